internal import Synchronization

/// Numbers that are allocated once and never again, not even after a crash.
///
/// The end of a block is committed before a number of the block is given out. A crash loses the
/// rest of a block; 64 bits are enough for that.
final class Counters: Sendable {
  enum Kind: String, CaseIterable {
    case inode, revision

    /// Number 1 is the root directory's; a few more are reserved for files with fixed numbers.
    var first: UInt64 { self == .inode ? 16 : 1 }
  }

  private struct Range {
    var next: UInt64
    var end: UInt64
  }

  private let catalog: Catalog
  private static let block: UInt64 = 65_536
  // Held while a new block is committed, once in 65,536 numbers; order: before the catalog's
  // writer.
  private let ranges: Mutex<[Kind: Range]>

  init(catalog: Catalog) throws(StoreError) {
    self.catalog = catalog
    let starts = try catalog.read { (database) throws(StoreError) in
      var ranges: [Kind: Range] = [:]
      for kind in Kind.allCases {
        let start = UInt64(clamping: try catalog.counter(kind, in: database).value)
        ranges[kind] = Range(next: max(kind.first, start), end: max(kind.first, start))
      }
      return ranges
    }
    ranges = Mutex(starts)
  }

  /// Returns the first of `count` consecutive numbers.
  func allot(_ kind: Kind, _ count: UInt64) throws(StoreError) -> UInt64 {
    let outcome = ranges.withLock { ranges in
      Result<UInt64, StoreError> { () throws(StoreError) in
        var range = ranges[kind] ?? Range(next: kind.first, end: kind.first)
        guard count <= UInt64(Int64.max) - range.end else {
          throw StoreError.noSpace("numbers are used up")
        }
        if range.end - range.next < count {
          let end = range.next + count + Counters.block
          try catalog.write { (database) throws(StoreError) in
            try catalog.setCounter(kind, Int64(end), in: database)
          }
          range.end = end
        }
        let first = range.next
        range.next += count
        ranges[kind] = range
        return first
      }
    }
    return try outcome.get()
  }
}
