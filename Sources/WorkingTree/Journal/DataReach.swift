import Inodes

/// The ends of the bytes that records refer to, by data file: longer files lack no bytes, and need no check.
struct DataReach {
  private var ends: [UInt32: UInt64] = [:]

  func isWithin(_ sizes: [UInt32: UInt64]) -> Bool {
    ends.allSatisfy { source, end in end <= sizes[source] ?? 0 }
  }

  mutating func add(_ record: JournalRecord) {
    record.forEachExtent { extent in
      let end = extent.offset + extent.length
      if end > ends[extent.source] ?? 0 { ends[extent.source] = end }
    }
  }
}
