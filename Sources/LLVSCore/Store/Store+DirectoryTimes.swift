/// The times at which names were last added to or removed from directories of the live tree, where
/// no version records them. They are local to a store, and a remount shows the same times as
/// before.
extension Store {
  /// Returns the time of a directory, by its inode number in the live tree; nil if none was
  /// recorded.
  ///
  /// - Complexity: O(log *n*).
  package func directoryTime(_ inode: UInt64) throws(StoreError) -> Attributes.Time? {
    try catalog.read { (database) throws(StoreError) in
      let statement = try database.prepared(
        "SELECT seconds, nanoseconds FROM directory_times WHERE inode = ?"
      ).bind(1, Int64(bitPattern: inode))
      defer { statement.reset() }
      guard try statement.step() else { return nil }
      return Attributes.Time(
        seconds: statement.integer(0), nanoseconds: UInt32(clamping: statement.integer(1)))
    }
  }
}

extension WriteTransaction {
  /// Records the time at which a name was last added to or removed from a directory.
  package func noteTime(_ time: Attributes.Time, ofDirectory inode: UInt64) {
    directoryTimes[inode] = time
  }
}

extension Catalog {
  func setDirectoryTime(
    _ inode: UInt64, _ time: Attributes.Time, in database: StoreDatabase
  ) throws(StoreError) {
    try database.prepared(
      "INSERT OR REPLACE INTO directory_times VALUES(?1,?2,?3,llvs_sum(?1,?2,?3))"
    )
    .bind(1, Int64(bitPattern: inode)).bind(2, time.seconds).bind(3, Int64(time.nanoseconds))
    .run()
  }
}
