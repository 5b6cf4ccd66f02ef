/// When names last came to or went from directories of the live tree, where no version records it: each
/// store's own, kept so that a remount shows what was shown before.
extension Store {
  /// The time of a directory by its live inode number; nil where none was noted.
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
  /// Notes when names last came to or went from a directory.
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
