package import Inodes
package import LLVSCore

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
