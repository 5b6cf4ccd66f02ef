public import LLVS

extension Projector {
  /// Adds a table for ``drainOwnedTables(store:basedOn:)``.
  public func registerOwnedTable(_ table: OwnedTable) { ownedTables.append(table) }

  /// Drains all registered tables, each onto the version of the one before, and returns the last version.
  ///
  /// Tables must be drained before they are made again, which loses changes that are in no version.
  /// - Throws: as ``OwnedTable/drain(in:store:)``; the tables before that one have been drained then.
  @discardableResult
  public func drainOwnedTables(
    store: Store, basedOn predecessor: Version.ID?
  ) throws -> Version.ID? {
    var last = predecessor
    for table in ownedTables {
      last = try table.drain(in: database, store: store, basedOn: last).version ?? last
    }
    return last
  }
}
