package protocol ContentSource {
  var length: UInt64 { get }

  /// An earlier state of the bytes, in the store, for ``ContentExtent/unchanged(end:)``.
  var base: StoredContent? { get }

  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError)

  /// Returns the known facts about the bytes from an offset on; the result's `end` is greater than the offset.
  func extent(at offset: UInt64) throws(StoreError) -> ContentExtent
}

package enum ContentExtent: Hashable, Sendable {
  case data(end: UInt64)
  case hole(end: UInt64)
  /// The same bytes as those of the source's base at the same offsets.
  case unchanged(end: UInt64)

  package var end: UInt64 {
    switch self {
    case .data(let end), .hole(let end), .unchanged(let end): end
    }
  }
}

extension ContentSource {
  package var base: StoredContent? { nil }
  package func extent(at offset: UInt64) throws(StoreError) -> ContentExtent { .data(end: length) }
}

package struct BytesSource: ContentSource {
  package let bytes: [UInt8]
  package var length: UInt64 { UInt64(bytes.count) }
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package func read(
    at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    guard offset <= length, UInt64(buffer.count) <= length - offset else {
      throw .invalid("a read beyond the end of a value")
    }
    bytes.withUnsafeBytes { raw in
      let start = Int(offset)
      buffer.copyMemory(
        from: UnsafeRawBufferPointer(rebasing: raw[start..<(start + buffer.count)]))
    }
  }
}

/// The bytes of a value that is in the store, to be stored again.
package struct StoredSource: ContentSource {
  private let stored: StoredContent
  private let contents: ContentStore
  package var length: UInt64 { stored.length }

  package init(_ stored: StoredContent, in contents: ContentStore) {
    (self.stored, self.contents) = (stored, contents)
  }

  package func read(
    at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    guard try contents.read(stored, at: offset, into: buffer) == buffer.count else {
      throw .invalid("a read beyond the end of a value")
    }
  }
}
