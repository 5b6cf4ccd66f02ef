package import Inodes
import LLVSCore
package import TreeNames

extension WorkingTree {
  /// Reads bytes of a file, fewer than asked only at its end, and returns their number. `accessing` is false for
  /// O_NOATIME. Throws ``FSError/isDirectory``, ``FSError/stale``, ``FSError/store(_:)`` with
  /// ``StoreError/corrupt(_:)`` for damaged bytes.
  package func read(
    _ number: InodeNumber, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer,
    accessing: Bool = true
  ) throws(FSError) -> Int {
    var content = try content(of: number, accessing: accessing)
    while true {
      do throws(FSError) {
        return try read(content, at: offset, into: buffer)
      } catch {
        // A cut stored the bytes and removed their data file, or a change freed them: then the file has other
        // content.
        guard error.damage != nil else { throw error }
        let now = try self.content(of: number, accessing: false)
        guard now != content else { throw error }
        content = now
      }
    }
  }

  /// Returns the target of a symbolic link. Throws ``FSError/invalid`` for another file, and as
  /// ``read(_:at:into:accessing:)``.
  package func readlink(_ number: InodeNumber) throws(FSError) -> [UInt8] {
    let content = try answer { state, base throws(FSError) in
      let kind = try kind(of: number, state, base)
      guard kind != nil else { throw .stale }
      guard kind == .symlink else { throw .invalid }
      return try noteRead(number, state: &state, base)
    }
    var target = [UInt8](repeating: 0, count: Int(min(content.size, UInt64(Self.longestTarget))))
    let result = target.withUnsafeMutableBytes { raw in
      Result { () throws(FSError) in try read(content, at: 0, into: raw) }
    }
    _ = try result.get()
    return LinkTarget.shown(target)
  }

  static let longestTarget = 4095

  private func content(of number: InodeNumber, accessing: Bool) throws(FSError) -> FileContent {
    try answer { state, base throws(FSError) in
      accessing
        ? try noteRead(number, state: &state, base)
        : try shownContent(of: number, state, base).content
    }
  }

  /// Notes that a file is read, and returns its content; with the lock held.
  private func noteRead(
    _ number: InodeNumber, state: inout TreeState, _ base: RememberedBase
  ) throws(FSError) -> FileContent {
    let content = try shownContent(of: number, state, base).content
    let times = try fileTimes(of: number, state, base)
    state.accessTimes.note(
      number, isDirectory: false, mtime: times.mtime, ctime: times.ctime, now: .now)
    return content
  }

  /// Reads bytes of a content, and returns their number.
  func read(
    _ content: FileContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) -> Int {
    guard offset < content.size else { return 0 }
    let count = Int(min(UInt64(buffer.count), content.size - offset))
    var filled = 0
    for extent in content.extents.extents(in: offset..<(offset + UInt64(count))) {
      let at = Int(extent.start - offset)
      if at > filled { buffer[filled..<at].initializeMemory(as: UInt8.self, repeating: 0) }
      let end = at + Int(extent.length)
      try read(extent, of: content, into: UnsafeMutableRawBufferPointer(rebasing: buffer[at..<end]))
      filled = end
    }
    if filled < count { buffer[filled..<count].initializeMemory(as: UInt8.self, repeating: 0) }
    return count
  }

  private func read(
    _ extent: Extent, of content: FileContent, into part: UnsafeMutableRawBufferPointer
  ) throws(FSError) {
    guard extent.source == Extent.base else {
      return try FSError.translating(try journal.read(extent.source, at: extent.offset, into: part))
    }
    guard let base = content.base else {
      throw .store(.corrupt("a file refers to a value that it does not have"))
    }
    try contents.read(base, at: extent.offset, into: part)
  }
}
