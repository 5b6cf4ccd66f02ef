package import Inodes
import LLVSCore
package import TreeNames

package struct OpenedFile: Hashable, Sendable {
  package var handle: HandleNumber
  /// True if the open updated the access time, so that the kernel's attributes are out of date.
  package var hasMovedAccessTime = false
  /// True if the kernel must drop its pages of the file, so that reads are requests.
  package var dropsPages = false
}

extension WorkingTree {
  /// Opens a file; `accessing` is false for O_NOATIME, process 0 is unknown.
  ///
  /// Truncation moves the times of an empty file too (`make` uses them as a stamp). An open for reading alone
  /// truncates as truncate(2), because no close of a writer follows.
  ///
  /// - Throws: ``FSError/isDirectory``, ``FSError/stale``, the error of the recorded tree, or of the journal: then
  ///   nothing has changed.
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
      // Only a process that is behind somewhere is looked up at the names.
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

  /// Notes a read through a handle that was opened for writing too.
  package func noteRead(_ handle: HandleNumber) {
    guard state({ $0.handles[handle]?.isUnread ?? false }) else { return }
    // If this fails, the process stays behind, so nothing is lost.
    try? answer { state, base throws(FSError) in
      guard let file = state.handles[handle] else { return }
      let names = try names(of: file.inode, state, base)
      state.handles[handle]?.isUnread = false
      state.noteReading(file.process, of: file.inode, names: names)
    }
  }

  /// Returns the epoch that a process saw at the names of a file that it truncates.
  func seen(
    by process: Int32, of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> Epoch? {
    guard state.writers.isDoubtful(process) else { return nil }
    return state.seen(by: process, at: try names(of: number, state, base))
  }

  @inline(__always)
  func fileTimes(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> (mtime: Attributes.Time, ctime: Attributes.Time) {
    if let times = state.overlay.nodes.times(of: number) {
      guard state.overlay.nodes.kind(of: number) != .directory else { throw .isDirectory }
      return times
    }
    let known = try FSError.translating(try base.known(number))
    guard number != .root else { throw .isDirectory }
    guard let known else { throw .stale }
    guard known.inode.record.kind != .directory else { throw .isDirectory }
    let changed = known.inode.record.changed
    return (
      known.inode.record.shownTime ?? known.inode.record.attributes.mtime ?? changed, changed
    )
  }

  @inline(__always)
  func names(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [InodeName] {
    if let names = state.overlay.nodes.names(of: number) { return names }
    return try FSError.translating(try base.names(of: number))
  }

  /// Returns the content of a file or symbolic link, by reference, and its kind.
  @inline(__always)
  func shownContent(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> (content: FileContent, kind: EntryKind) {
    let nodes = state.overlay.nodes
    if let kind = nodes.kind(of: number) {
      guard let content = nodes.content(of: number) else { throw .isDirectory }
      return (content, kind)
    }
    guard number != .root else { throw .isDirectory }
    let known = try FSError.translating(try base.known(number))
    guard let known else { throw .stale }
    let kind = known.inode.record.kind
    guard kind != .directory else { throw .isDirectory }
    return (FileContent(stored: known.inode.record.stored), kind)
  }

  @inline(__always)
  func regularContent(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> FileContent {
    let (content, kind) = try shownContent(of: number, state, base)
    guard kind == .regular else { throw .invalid }
    return content
  }
}

extension TreeState {
  mutating func open(_ number: InodeNumber, _ mode: OpenMode, process: Int32) -> HandleNumber {
    handles.open(OpenFile(inode: number, mode: mode, process: process))
  }
}
