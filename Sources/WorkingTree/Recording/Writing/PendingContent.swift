package import Inodes
package import LLVSCore

/// Reads the working tree's bytes of files, in data files and in the store.
package protocol PendingContents: Sendable {
  /// Fills a buffer from an offset; the range is inside the file.
  /// - Throws: ``StoreError/corrupt(_:)`` for damaged bytes, ``StoreError/system(_:)`` if they cannot be read.
  func read(
    _ content: FileContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError)
}

/// The source of a pending file's bytes for the store.
struct PendingSource: ContentSource {
  let contents: any PendingContents
  let content: FileContent
  var length: UInt64 { content.size }
  var base: StoredContent? { content.base }

  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) {
    try contents.read(content, at: offset, into: buffer)
  }

  func extent(at offset: UInt64) throws(StoreError) -> ContentExtent {
    guard let first = content.extents.extent(from: offset), first.start < content.size
    else { return .hole(end: content.size) }
    if first.start > offset { return .hole(end: first.start) }
    if first.source == Extent.base, first.offset == first.start {
      return .unchanged(end: min(first.end, content.size))
    }
    return .data(end: min(first.end, content.size))
  }
}

extension PendingContents {
  /// Returns all bytes of a file of at most `limit` bytes; nil if they cannot be read.
  package func text(of content: FileContent, atMost limit: Int) -> [UInt8]? {
    guard content.size <= UInt64(limit) else { return nil }
    var isRead = true
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(content.size)) { buffer, used in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      raw.initializeMemory(as: UInt8.self, repeating: 0)
      used = Int(content.size)
      do throws(StoreError) {
        try read(
          content, at: 0, into: UnsafeMutableRawBufferPointer(rebasing: raw[..<used]))
      } catch { isRead = false }
    }
    return isRead ? bytes : nil
  }
}

/// Reads pending files from the journal's data files and from the store.
package struct TreeContents: PendingContents {
  private let store: Store
  private let journal: Journal

  package init(_ store: Store, _ journal: Journal) {
    self.store = store
    self.journal = journal
  }

  package func read(
    _ content: FileContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    let end = offset + UInt64(buffer.count)
    guard end <= content.size else { throw .corrupt("a file is shorter than it says") }
    var filled = 0
    func skip(to position: Int) {
      guard position > filled else { return }
      buffer[filled..<position].initializeMemory(as: UInt8.self, repeating: 0)
    }
    for extent in content.extents.extents(in: offset..<end) {
      let at = Int(extent.start - offset)
      skip(to: at)
      filled = at + Int(extent.length)
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[at..<filled])
      if extent.source != Extent.base {
        try journal.read(extent.source, at: extent.offset, into: part)
      } else if let base = content.base {
        let count = try store.contents.read(base, at: extent.offset, into: part)
        guard count == part.count else { throw .corrupt("a value is shorter than its file") }
      } else {
        throw .corrupt("a file refers to a value that it does not have")
      }
    }
    skip(to: buffer.count)
  }
}
