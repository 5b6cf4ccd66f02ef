import Inodes
import LLVSCore
import TreeNames

/// A pending file's bytes on their way into the store.
struct ContentReader: ContentSource {
  let tree: LiveTree
  let content: FileContent

  var length: UInt64 { content.size }

  var base: StoredContent? { content.base }

  func read(
    at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    try StoreError.wrapping { () throws(FSError) in
      guard try tree.read(content, at: offset, into: buffer) == buffer.count else {
        throw FSError.io
      }
    }
  }

  func extent(at offset: UInt64) throws(StoreError) -> ContentExtent {
    guard let first = content.extents.extent(from: offset), first.start < content.size else {
      return .hole(end: content.size)
    }
    if first.start > offset { return .hole(end: first.start) }
    if first.source == Extent.base, first.offset == first.start {
      return .unchanged(end: min(first.end, content.size))
    }
    return .data(end: min(first.end, content.size))
  }
}

extension [UInt8] {
  /// Bytes that a body fills in, all of them; what it throws is thrown.
  static func filled<E: Error>(
    _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> Void
  ) throws(E) -> [UInt8] {
    var failure: E?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      raw.initializeMemory(as: UInt8.self, repeating: 0)
      used = count
      do throws(E) { try body(raw) } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }
}
