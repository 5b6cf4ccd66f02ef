public import LLVS

extension Projector {
  /// Adds a table that the program writes, whose changes ``drainOwnedTables(store:basedOn:)`` makes
  /// into versions.
  public func registerOwnedTable(_ table: OwnedTable) { ownedTables.append(table) }

  /// Makes versions of the changes in all tables that were registered, each on the one before.
  ///
  /// It comes before the tables are made again, as for other columns: changes that are in no version
  /// would be lost.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - predecessor: the version that the first one is made on.
  /// - Returns: the last version; `predecessor` if there was nothing to store.
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
