internal import Synchronization

/// Allocates numbers once. The end of a block is committed before a number of the block is used; a crash loses the
/// rest of a block.
final class Counters: Sendable {
  enum Kind: String, CaseIterable {
    case inode, revision

    /// The root directory has number 1; a few more are reserved for files with fixed numbers.
    var first: UInt64 { self == .inode ? Store.firstInode : 1 }
    var limit: UInt64 { self == .inode ? Store.inodeLimit : UInt64(Int64.max) }
  }

  private struct Range {
    var next: UInt64
    var end: UInt64
  }

  private let catalog: Catalog
  private static let block: UInt64 = 65_536
  // Held while a new block is committed; order: before the catalog's writer.
  private let ranges: Mutex<[Kind: Range]>

  init(catalog: Catalog) throws(StoreError) {
    self.catalog = catalog
    let starts = try catalog.read { (database) throws(StoreError) in
      var ranges: [Kind: Range] = [:]
      for kind in Kind.allCases {
        let start = UInt64(clamping: try database.counter(kind).value)
        ranges[kind] = Range(next: max(kind.first, start), end: max(kind.first, start))
      }
      return ranges
    }
    ranges = Mutex(starts)
  }

  func allot(_ kind: Kind, _ count: UInt64) throws(StoreError) -> UInt64 {
    try ranges.withLock { ranges throws(StoreError) in
      var range = ranges[kind] ?? Range(next: kind.first, end: kind.first)
      guard range.next <= kind.limit, count <= kind.limit - range.next else {
        throw .noSpace("\(kind.rawValue) numbers are used up: mount the store again")
      }
      if range.end - range.next < count {
        let end = min(range.next + count + Counters.block, kind.limit)
        try commit(end, of: kind)
        range.end = end
      }
      let first = range.next
      range.next += count
      ranges[kind] = range
      return first
    }
  }

  /// The first number that was neither used nor lost.
  func next(_ kind: Kind) -> UInt64 { ranges.withLock { $0[kind]?.next ?? kind.first } }

  /// Makes `next` the next number, even if it is smaller than used ones.
  func restart(_ kind: Kind, at next: UInt64) throws(StoreError) {
    try ranges.withLock { ranges throws(StoreError) in
      try commit(next, of: kind)
      ranges[kind] = Range(next: next, end: next)
    }
  }

  private func commit(_ end: UInt64, of kind: Kind) throws(StoreError) {
    try catalog.write { (database) throws(StoreError) in try database.setCounter(kind, Int64(end)) }
  }
}
