import Events
import Inodes
import LLVSCore
import Platform
package import TreeNames

// Bytes on their way out. What is pending is checked against the journal's checksums (INVARIANT J6), what
// is in a version by the store.

extension LiveTree {
  /// Reads bytes and says how many; fewer than asked only at the end of the file. If `accessing`, it
  /// updates the access time as the rules say.
  ///
  /// - Throws: ``FSError/isDirectory``, ``FSError/stale``, ``FSError/store(_:)`` with
  ///   ``StoreError/corrupt(_:)`` where bytes are not what was written, which the log tells of.
  package func read(
    _ inode: UInt64, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer,
    accessing: Bool = true
  ) throws(FSError) -> Int {
    var last: FileContent?
    while true {
      let content = try lock.withLock { _ throws(FSError) in
        let node = try node(inode)
        guard node.kind != .directory else { throw .isDirectory }
        if accessing, last == nil { noteAccess(of: node) }
        return node.content
      }
      do throws(FSError) {
        return try read(content, at: offset, into: buffer)
      } catch .stale {
        // A cut took the bytes into the store and dropped the data file: look again.
        guard content != last else {
          throw told(.store(.corrupt("a pending file's data file is missing")), of: inode)
        }
        last = content
      } catch {
        // Bytes that a change has replaced meanwhile may have been given back to the disk.
        let now = lock.withLock { _ in nodes[inode]?.content }
        guard error.damage != nil, now != content, now != nil, content != last else {
          throw told(error, of: inode)
        }
        last = content
      }
    }
  }

  /// Tells of a file whose bytes cannot be read, and returns the error.
  private func told(_ error: FSError, of inode: UInt64) -> FSError {
    guard let reason = error.damage else { return error }
    damage.tell(reason, of: nameForPeople(inode))
    return error
  }

  /// A file's path, or its number where it has none.
  func nameForPeople(_ inode: UInt64) -> String {
    lock.withLock { _ in
      nodes[inode]?.path.map { String(decoding: $0, as: UTF8.self) } ?? "#\(inode)"
    }
  }

  /// Reads bytes of a content, as it was when it was copied, and says how many.
  func read(
    _ content: FileContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) -> Int {
    guard offset < content.size else { return 0 }
    let count = Int(min(UInt64(buffer.count), content.size - offset))
    let extents = content.extents.extents(in: offset..<(offset + UInt64(count)))
    try journal.commit(extents)
    var filled = 0
    for extent in extents {
      let at = Int(extent.start - offset)
      if at > filled { buffer[filled..<at].initializeMemory(as: UInt8.self, repeating: 0) }
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[at..<(at + Int(extent.length))])
      try read(extent, of: content, into: part)
      filled = at + Int(extent.length)
    }
    if filled < count { buffer[filled..<count].initializeMemory(as: UInt8.self, repeating: 0) }
    return count
  }

  private func read(
    _ extent: Extent, of content: FileContent, into part: UnsafeMutableRawBufferPointer
  ) throws(FSError) {
    guard extent.source == Extent.base else {
      return try journal.read(extent.source, at: extent.offset, into: part)
    }
    guard let base = content.base else { throw .io }
    let got = try FSError.wrapping { () throws(StoreError) in
      try store.contents.read(base, at: extent.offset, into: part)
    }
    guard got == part.count else {
      throw .store(.corrupt("a value is shorter than its file"))
    }
  }

  /// The target of a symbolic link.
  package func readlink(_ inode: UInt64) throws(FSError) -> [UInt8] {
    let content = try lock.withLock { _ throws(FSError) in
      let node = try node(inode)
      guard node.kind == .symlink else { throw .invalid }
      noteAccess(of: node)
      return node.content
    }
    let size = Int(min(content.size, 4095))
    do throws(FSError) {
      return LinkTarget.shown(
        try [UInt8].filled(size) { (raw) throws(FSError) in
          _ = try read(content, at: 0, into: raw)
        })
    } catch {
      throw told(error, of: inode)
    }
  }
}
