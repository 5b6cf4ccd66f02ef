package import Inodes
import LLVSCore
package import TreeNames

// Opening files.

/// A file that was opened.
package struct OpenedFile: Hashable, Sendable {
  /// Its handle.
  package var handle: HandleNumber
  /// True if the open updated the access time, so that attributes which the kernel holds are out of date.
  package var hasMovedAccessTime = false
  /// True if the kernel must drop the pages that it holds of the file, so that the tree is told what is read.
  package var dropsPages = false
}

extension WorkingTree {
  /// Opens a file.
  ///
  /// Emptying it moves the times of an empty file too (`make` tells a stamp's age by them). One that is opened
  /// for reading alone is emptied as truncate(2) does: no close of a writer follows that would save it.
  ///
  /// - Parameters:
  ///   - number: the file.
  ///   - mode: the ways in which it is opened.
  ///   - process: the process that opens it; 0 where nobody knows.
  ///   - accessing: false for O_NOATIME.
  /// - Returns: the handle, and what the open did.
  /// - Throws: ``FSError/isDirectory``, ``FSError/stale``, the error of the recorded tree, or of the journal:
  ///   then nothing has changed.
  package func open(
    _ number: InodeNumber, mode: OpenMode, process: Int32 = 0, accessing: Bool = true
  ) throws(FSError) -> OpenedFile {
    if mode.contains(.truncate) {
      guard mode.contains(.write) else {
        try resize(number, to: 0, process: process)
        return try open(
          number, mode: mode.subtracting(.truncate), process: process, accessing: accessing)
      }
      return try openEmptied(number, mode: mode, process: process)
    }
    confirm(process)
    return try answer { state, base throws(FSError) in
      let (mtime, ctime) = try fileTimes(of: number, state, base)
      // Only a process that a head left behind somewhere is looked for at the names.
      let names = state.writers.isDoubtful(process) ? try names(of: number, state, base) : []
      var opened = OpenedFile(handle: state.open(number, mode, process: process))
      if mode.contains(.write), state.seen(by: process, at: names) != nil {
        state.handles[opened.handle]?.isUnread = true
        opened.dropsPages = mode.contains(.read)
      } else if mode.contains(.read) {
        state.noteReading(process, of: number, names: names)
      }
      if mode.contains(.read) { state.leaveBehind(process, reading: number) }
      // Reads from the page cache send no request, so an open for reading alone counts as a read.
      if accessing, mode == .read {
        opened.hasMovedAccessTime = state.accessTimes.note(
          number, isDirectory: false, mtime: mtime, ctime: ctime, now: .now)
      }
      return opened
    }
  }

  private func openEmptied(
    _ number: InodeNumber, mode: OpenMode, process: Int32
  ) throws(FSError) -> OpenedFile {
    confirm(process)
    return try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, base throws(FSError) in
        _ = try regularContent(of: number, state, base)
        let seen = try seen(by: process, of: number, state, base)
        return Decision(
          concerned: [number], operations: [.resize(number, to: 0, [], seen: seen)]
        ) { state in
          OpenedFile(handle: state.open(number, mode, process: process))
        }
      }
    }
  }

  /// Bytes are read through a handle that was opened for writing too.
  package func noteRead(_ handle: HandleNumber) {
    guard state({ $0.handles[handle]?.isUnread ?? false }) else { return }
    // What cannot be read leaves the process behind, so nothing is lost.
    try? answer { state, base throws(FSError) in
      guard let file = state.handles[handle] else { return }
      let names = try names(of: file.inode, state, base)
      state.handles[handle]?.isUnread = false
      state.noteReading(file.process, of: file.inode, names: names)
    }
  }

  // MARK: - With the lock held

  /// Returns the epoch that a process had seen at the names of a file that it empties or cuts.
  func seen(
    by process: Int32, of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> Epoch? {
    guard state.writers.isDoubtful(process) else { return nil }
    return state.seen(by: process, at: try names(of: number, state, base))
  }

  /// Returns mtime and ctime of a file that can be opened.
  func fileTimes(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> (mtime: Attributes.Time, ctime: Attributes.Time) {
    if let times = state.overlay.nodes.times(of: number) {
      guard state.overlay.nodes.kind(of: number) != .directory else { throw .isDirectory }
      return times
    }
    let inode = try FSError.wrapping { () throws(BaseError) in try base.inode(number) }
    guard number != .root else { throw .isDirectory }
    guard let record = inode?.record else { throw .stale }
    guard !record.isDirectory else { throw .isDirectory }
    return (record.shownTime ?? record.attributes.mtime ?? record.changed, record.changed)
  }

  /// Returns the names of a file.
  func names(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [InodeName] {
    if let names = state.overlay.nodes.names(of: number) { return names }
    return try FSError.wrapping { () throws(BaseError) in try base.names(of: number) }
  }

  /// Returns the bytes that a file or a symbolic link shows, by reference, and its kind.
  func shownContent(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> (content: FileContent, kind: EntryKind) {
    let nodes = state.overlay.nodes
    if let kind = nodes.kind(of: number) {
      guard let content = nodes.content(of: number) else { throw .isDirectory }
      return (content, kind)
    }
    guard number != .root else { throw .isDirectory }
    let inode = try FSError.wrapping { () throws(BaseError) in try base.inode(number) }
    guard let record = inode?.record else { throw .stale }
    guard !record.isDirectory else { throw .isDirectory }
    return (FileContent(stored: record.stored), record.kind)
  }

  /// Returns the bytes of a regular file, by reference.
  func regularContent(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> FileContent {
    let (content, kind) = try shownContent(of: number, state, base)
    guard kind == .regular else { throw .invalid }
    return content
  }
}

extension TreeState {
  /// Opens a file that is there, and returns the handle's number.
  mutating func open(_ number: InodeNumber, _ mode: OpenMode, process: Int32) -> HandleNumber {
    handles.open(OpenFile(inode: number, mode: mode, process: process))
  }
}
