package import Inodes
package import LLVSCore

/// Hands out inode numbers that no name ever had, which it takes from the store in batches.
///
/// - Concurrency: one thread at a time.
package final class NumberSource {
  private static let batch: UInt64 = 4096

  private let allot: (UInt64) throws(StoreError) -> UInt64
  private var next: UInt64 = 0
  private var end: UInt64 = 0

  /// Creates a source; `allot` reserves so many numbers and returns the first.
  package init(_ allot: @escaping (UInt64) throws(StoreError) -> UInt64) {
    self.allot = allot
  }

  /// Sees to it that no number up to one is handed out: a store that was put back from a copy may not know of it.
  ///
  /// A number at or above `InodeNumber.limit` is ignored: no store handed it out, and following it would use the numbers
  /// up for ever.
  package func skip(through last: InodeNumber) throws(StoreError) {
    guard last < .limit else { return }
    while next <= last.rawValue {
      if end <= last.rawValue {
        let count = max(Self.batch, last.rawValue - end)
        next = try allot(count)
        end = next + count
      }
      next = max(next, min(last.rawValue + 1, end))
    }
  }

  /// Returns a number.
  package func number() throws(StoreError) -> InodeNumber {
    if next == end {
      next = try allot(Self.batch)
      end = next + Self.batch
    }
    defer { next += 1 }
    return InodeNumber(next)
  }
}
