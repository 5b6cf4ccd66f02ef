package import LLVSCore
package import TreeNames

/// The bytes of a store's values.
package final class StoreContents: ContentReading {
  private let contents: ContentStore
  package init(_ contents: ContentStore) { self.contents = contents }

  package func read(
    _ content: StoredContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) {
    let count = try FSError.translating(try contents.read(content, at: offset, into: buffer))
    guard count == buffer.count else { throw .store(.corrupt("a value is shorter than its file")) }
  }

  package func run(_ content: StoredContent, at offset: UInt64) throws(FSError) -> ContentRun {
    try FSError.translating(try contents.run(content, at: offset))
  }

  package func zeroBytes(_ content: StoredContent) throws(FSError) -> UInt64 {
    try FSError.translating(try contents.shownZeroBytes(content))
  }
}
