package import Inodes
package import LLVSCore
import Synchronization
package import TreeNames

/// Hands out a store's inode numbers, reserved thousands at a time.
///
/// - Concurrency: any thread.
package final class StoreNumbers: NumberAllotting {
  private static let batch: UInt64 = 4096
  private let store: Store
  private let spare = Mutex<Range<UInt64>>(0..<0)
  package init(_ store: Store) { self.store = store }

  package func next() throws(FSError) -> InodeNumber {
    while true {
      if let number = take() { return number }
      let first = try FSError.wrapping { () throws(StoreError) in try store.allotInodes(Self.batch)
      }
      // If two threads reserved at once, the numbers of one are unused.
      spare.withLock { if $0.isEmpty { $0 = first..<(first + Self.batch) } }
    }
  }

  private func take() -> InodeNumber? {
    spare.withLock { spare in
      guard let first = spare.first else { return nil }
      spare = (first + 1)..<spare.upperBound
      return InodeNumber(first)
    }
  }
}
