import Inodes

/// The ends of the bytes that a journal's records refer to, by data file.
///
/// If every data file is at least that long, no file lacks bytes at its end, and none has to be looked at.
struct DataReach {
  private var ends: [UInt32: UInt64] = [:]

  /// True if all data files have their bytes, given the size of each.
  func isWithin(_ sizes: [UInt32: UInt64]) -> Bool {
    ends.allSatisfy { source, end in end <= sizes[source] ?? 0 }
  }

  /// Adds what a record refers to.
  mutating func add(_ record: JournalRecord) {
    record.forEachExtent { extent in
      let end = extent.offset + extent.length
      if end > ends[extent.source] ?? 0 { ends[extent.source] = end }
    }
  }
}
