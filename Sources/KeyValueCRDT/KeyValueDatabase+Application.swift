internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
  /// The application whose data the database holds; nil if unknown.
  /// - Throws: ``DatabaseError``.
  public var applicationIdentifier: ApplicationIdentifier? {
    get throws {
      try writer.read { (connection: Connection) in try Self.application(writer, connection) }
    }
  }

  /// - Throws: ``DatabaseError``.
  public func setApplicationIdentifier(_ applicationIdentifier: ApplicationIdentifier) throws {
    try writer.write { (connection: Connection) in
      try connection.sqlite.execute("DELETE FROM applicationIdentifier")
      try connection.sqlite.prepared("INSERT INTO applicationIdentifier VALUES (?, ?, ?, ?)")
        .bind(1, applicationIdentifier.id)
        .bind(2, Int64(applicationIdentifier.majorVersion))
        .bind(3, Int64(applicationIdentifier.minorVersion))
        .bind(4, applicationIdentifier.applicationDescription)
        .run()
    }
  }

  static func application(
    _ writer: DatabaseWriter, _ connection: Connection
  ) throws -> ApplicationIdentifier? {
    if case .older(_, hasApplication: false) = writer.schema.withLock({ $0 }) { return nil }
    let statement = try connection.sqlite.prepared(
      """
      SELECT id, majorVersion, minorVersion, applicationDescription FROM applicationIdentifier
      """)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    return ApplicationIdentifier(
      id: statement.string(0), majorVersion: Int(statement.integer(1)),
      minorVersion: Int(statement.integer(2)),
      applicationDescription: statement.isNull(3) ? nil : statement.string(3))
  }
}

extension ApplicationDataUpgrader {
  func upgrade(_ database: KeyValueDatabase) throws {
    switch expectedApplicationIdentifier.compare(to: try database.applicationIdentifier) {
    case .compatible: break
    case .incompatible: throw KeyValueCRDTError.incompatibleApplications
    case .currentVersionIsTooOld: throw KeyValueCRDTError.applicationDataTooNew
    case .requiresUpgrade:
      try database.writer.write { (_: Connection) in
        // Another process may have been faster.
        guard
          expectedApplicationIdentifier.compare(to: try database.applicationIdentifier)
            == .requiresUpgrade
        else { return }
        try upgradeApplicationData(in: database)
        try database.setApplicationIdentifier(expectedApplicationIdentifier)
      }
    }
  }
}
