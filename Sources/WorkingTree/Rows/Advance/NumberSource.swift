package import Inodes
package import LLVSCore
import Synchronization

/// Hands out unused inode numbers, which it reserves in batches.
///
/// - Concurrency: any thread.
package final class NumberSource: Sendable {
  private static let batch: UInt64 = 4096
  private let allot: @Sendable (UInt64) throws(StoreError) -> UInt64
  // A leaf lock.
  private let spare = Mutex<Range<UInt64>>(0..<0)

  /// Creates a source; `allot` reserves N numbers and returns the first.
  package init(_ allot: @escaping @Sendable (UInt64) throws(StoreError) -> UInt64) {
    self.allot = allot
  }

  package convenience init(of store: Store) {
    self.init { (count) throws(StoreError) in try store.allotInodes(count) }
  }

  package func number() throws(StoreError) -> InodeNumber {
    while true {
      let next = spare.withLock { $0.popFirst() }
      if let next { return InodeNumber(next) }
      let first = try allot(Self.batch)
      // If two threads reserved at once, the numbers of one are unused.
      spare.withLock { if $0.isEmpty { $0 = first..<(first + Self.batch) } }
    }
  }
}
