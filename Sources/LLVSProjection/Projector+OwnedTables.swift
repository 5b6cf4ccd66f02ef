public import LLVS

extension Projector {
  /// Adds a table for ``drainOwnedTables(store:basedOn:)``.
  public func registerOwnedTable(_ table: OwnedTable) { ownedTables.append(table) }

  /// Drains all registered tables, each onto the previous one's version, and returns the last version.
  /// Drain tables before making them again, which loses changes that are in no version.
  /// - Throws: as ``OwnedTable/drain(in:store:)``; earlier tables are then already drained.
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
