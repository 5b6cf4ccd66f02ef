package import LLVSCore
import TreeNames

/// The bytes of a store's values; missing and damaged bytes are an ``FSError/store(_:)``.
package final class StoreContents: Sendable {
  private let contents: ContentStore
  package init(_ contents: ContentStore) { self.contents = contents }

  /// Reads bytes of a value into a buffer, which must not reach beyond the value's end.
  func read(
    _ content: StoredContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) {
    let count = try FSError.translating(try contents.read(content, at: offset, into: buffer))
    guard count == buffer.count else { throw .store(.corrupt("a value is shorter than its file")) }
  }

  func run(_ content: StoredContent, at offset: UInt64) throws(FSError) -> ContentRun {
    try FSError.translating(try contents.run(content, at: offset))
  }

  /// Returns the bytes of holes; 0 for damaged nodes.
  func zeroBytes(_ content: StoredContent) throws(FSError) -> UInt64 {
    try FSError.translating(try contents.shownZeroBytes(content))
  }
}
