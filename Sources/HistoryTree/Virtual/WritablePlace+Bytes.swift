import LLVSCore
import Synchronization
import TreeNames
import WorkingTree

extension WritablePlace {
  func open(_ file: WritableFile, truncating: Bool) {
    let head = live.shownHead
    state.withLock { state in
      file.handles += 1
      if !truncating, file.isInEffect, !file.isDirty { state.seen = head }
      guard truncating, !file.state.bytes.isEmpty else { return }
      file.state.bytes = []
      Self.touch(file)
    }
  }

  func close(_ file: WritableFile) {
    state.withLock { _ in file.handles -= 1 }
  }

  func isOpen(_ file: WritableFile) -> Bool { state.withLock { _ in file.handles > 0 } }

  private static func touch(_ file: WritableFile) {
    file.isDirty = true
    file.state.mtime = TreeSession.now()
  }

  func write(
    _ file: WritableFile, at offset: UInt64, _ bytes: UnsafeRawBufferPointer
  ) throws(FSError) {
    guard !bytes.isEmpty else { return }
    guard offset <= UInt64(fileLimit), Int(offset) + bytes.count <= fileLimit else {
      throw .fileTooBig
    }
    let start = Int(offset)
    try file.charge?.reach(start + bytes.count)
    state.withLock { _ in
      let missing = start - file.state.bytes.count
      if missing > 0 { file.state.bytes += [UInt8](repeating: 0, count: missing) }
      let end = min(start + bytes.count, file.state.bytes.count)
      file.state.bytes.replaceSubrange(start..<end, with: bytes)
      Self.touch(file)
    }
  }

  func resize(_ file: WritableFile, to size: UInt64) throws(FSError) {
    guard size <= UInt64(fileLimit) else { throw .fileTooBig }
    try file.charge?.reach(Int(size))
    state.withLock { _ in
      let missing = Int(size) - file.state.bytes.count
      guard missing != 0 else { return }
      if missing > 0 {
        file.state.bytes += [UInt8](repeating: 0, count: missing)
      } else {
        file.state.bytes.removeLast(-missing)
      }
      Self.touch(file)
    }
  }

  func change(_ file: WritableFile, mode: UInt32?, mtime: Attributes.Time?) {
    state.withLock { _ in
      if let mode { file.state.mode = mode & 0o777 }
      if let mtime { file.state.mtime = mtime }
    }
  }
}
