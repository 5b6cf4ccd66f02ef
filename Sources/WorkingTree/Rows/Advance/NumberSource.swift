package import Inodes
package import LLVSCore

/// Hands out unused inode numbers, which it reserves in batches.
///
/// - Concurrency: one thread at a time.
package final class NumberSource {
  private static let batch: UInt64 = 4096
  private let allot: (UInt64) throws(StoreError) -> UInt64
  private var next: UInt64 = 0
  private var end: UInt64 = 0
  /// Creates a source; `allot` reserves N numbers and returns the first.
  package init(_ allot: @escaping (UInt64) throws(StoreError) -> UInt64) { self.allot = allot }

  package func number() throws(StoreError) -> InodeNumber {
    if next == end {
      next = try allot(Self.batch)
      end = next + Self.batch
    }
    defer { next += 1 }
    return InodeNumber(next)
  }
}
