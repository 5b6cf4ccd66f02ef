import Inodes
package import LLVSCore
package import TreeNames

// When bytes count as saved (docs/writes.md, rule 1), and syncs.

extension WorkingTree {
  /// Notes that a copy of a handle's descriptor was closed. Throws the error of the journal; then nothing is saved,
  /// and the next flush or the release tries again.
  package func flush(_ handle: HandleNumber) throws(FSError) {
    guard let process = writer(of: handle) else { return }
    try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, _ in
        guard let file = state.handles[handle] else { return Decision { _ in } }
        let saves =
          file.wroteSinceFlush || state.overlay.nodes.isMapped(file.inode)
          || file.flushes >= 1 && state.isEmptied(by: file)
        return Decision(saves ? state.saving(file.inode) : nil) { state in
          state.handles.noteFlush(through: handle)
        }
      }
    }
  }

  /// Closes a handle, also if it throws the error of the journal: then the bytes are unsaved.
  package func release(_ handle: HandleNumber) throws(FSError) {
    defer { close(handle) }
    // Usually close's flush has saved everything.
    let process = state { state -> Int32? in
      guard let file = state.handles[handle], file.mode.contains(.write) else { return nil }
      return state.isSavedAtRelease(of: file) ? file.process : nil
    }
    guard let process else { return }
    try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, _ in
        guard let file = state.handles[handle] else { return Decision { _ in } }
        return Decision(
          operations: state.isSavedAtRelease(of: file) ? [.save(file.inode)] : []
        ) { _ in }
      }
    }
  }

  private func close(_ handle: HandleNumber) {
    let orphan = state { state -> InodeNumber? in
      guard let inode = state.handles.close(handle)?.inode, !state.isHeld(inode),
        state.overlay.nodes.orphan(of: inode) != nil
      else { return nil }
      return inode
    }
    if let orphan { release(orphan) }
  }

  private func writer(of handle: HandleNumber) -> Int32? {
    state { state in
      guard let file = state.handles[handle], file.mode.contains(.write) else { return nil }
      return file.process
    }
  }

  /// Saves a file and brings it, its names and everything before to the disk. Throws ``FSError/stale`` for a closed
  /// handle, or the error of the journal.
  package func fsync(_ handle: HandleNumber) throws(FSError) {
    let process = writer(of: handle) ?? 0
    try withRoom { () throws(FSError) in
      try change(by: process, mayUseReserve: true) { state, _ throws(FSError) in
        guard let file = state.handles[handle] else { throw .stale }
        return Decision(state.saving(file.inode, isFirm: true)) { state in
          state.handles.noteSave(through: handle)
        }
      }
    }
    try sync()
  }

  package func sync() throws(FSError) {
    try FSError.translating(try journal.sync())
  }

  /// Saves files whose writes have paused at `now`: logs and databases for `settle` nanoseconds, others for a
  /// minute; in O(unsaved files). Throws the error of the journal; then nothing is saved.
  package func savePaused(at now: Attributes.Time, settle: UInt64) throws(FSError) {
    heal()
    try change(mayUseReserve: true) { state, _ in
      let due = state.unsaved.filter { number in
        guard let node = state.overlay.nodes.node(number), let file = node.file,
          node.orphan != .gone
        else { return false }
        let pause = node.lastWrite.nanoseconds(until: now)
        return pause >= (file.isSteady ? settle : Self.abandonedNanoseconds)
      }
      return Decision(operations: due.sorted().map { .save($0, isFirm: true) }) { _ in }
    }
  }

  /// Returns the time from which ``savePaused(at:settle:)`` finds a file, in O(unsaved files); nil without any.
  package func nextPause(settle: UInt64) -> Attributes.Time? {
    state { state in
      state.unsaved.compactMap { number -> Attributes.Time? in
        guard let node = state.overlay.nodes.node(number), let file = node.file,
          node.orphan != .gone
        else { return nil }
        return node.lastWrite.adding(file.isSteady ? settle : Self.abandonedNanoseconds)
      }.min()
    }
  }

  /// The pause after which bytes of a new file count as saved.
  private static let abandonedNanoseconds: UInt64 = 60_000_000_000
}

extension TreeState {
  var hasUnsavedOfNames: Bool {
    unsaved.contains { overlay.nodes[$0].map { $0.orphan != .gone } ?? false }
  }

  /// The operations that save files at a cut's instant, also while they are written: a database with its logs, because
  /// files of several instants are a damaged database, and if the cut `isOverdue` all logs and databases.
  func saves(isOverdue: Bool) -> [Change.Operation] {
    guard !unsaved.isEmpty else { return [] }
    var databases: Set<InodeName> = []
    for number in unsaved.union(overlay.sinceCut.allInodes) {
      guard let node = overlay.nodes.node(number), let file = node.file, file.isPending,
        file.saved?.isSteady ?? file.isSteady
      else { continue }
      for case let database? in node.names.map(\.database) { databases.insert(database) }
    }
    let due = unsaved.filter { number in
      guard let node = overlay.nodes.node(number), let file = node.file, node.orphan == nil
      else { return false }
      return isOverdue && file.isSteady
        || node.names.contains { databases.contains($0.database ?? $0) || hasLostLog($0) }
    }
    return due.sorted().map { .save($0, isFirm: true) }
  }

  /// True for a database whose log is in the newest version and was removed.
  private func hasLostLog(_ name: InodeName) -> Bool {
    name.logs.contains { log in
      overlay.changes[log].map { $0.inode == nil && $0.hidesRecorded } ?? false
    }
  }

  /// True if a handle's open made or truncated the file, and no write followed.
  @inline(__always)
  fileprivate func isEmptied(by file: OpenFile) -> Bool {
    !file.wrote && !file.mode.isDisjoint(with: [.created, .truncate])
      && overlay.nodes.content(of: file.inode)?.size == 0
  }

  @inline(__always)
  fileprivate func isSavedAtRelease(of file: OpenFile) -> Bool {
    // Mapped stores arrive after close's FLUSH: the release of a writer takes them too.
    let saves =
      file.wroteSinceFlush || overlay.nodes.isMapped(file.inode)
      || handles.hasOneWriter(file.inode)
    return saves && overlay.nodes.isUnsaved(file.inode)
  }

  /// The operation that saves a file, if there is anything to save or `isFirm` changes the last save.
  @inline(__always)
  fileprivate func saving(_ number: InodeNumber, isFirm: Bool = false) -> Change.Operation? {
    guard overlay.nodes.isUnsaved(number) || isFirm && overlay.nodes.hasLooseSave(number)
    else { return nil }
    return .save(number, isFirm: isFirm)
  }
}

extension Attributes.Time {
  fileprivate func adding(_ nanoseconds: UInt64) -> Attributes.Time {
    let sum = UInt64(self.nanoseconds) + nanoseconds % 1_000_000_000
    let more = Int64(nanoseconds / 1_000_000_000 + sum / 1_000_000_000)
    let (seconds, overflows) = self.seconds.addingReportingOverflow(more)
    return Attributes.Time(
      seconds: overflows ? .max : seconds, nanoseconds: UInt32(sum % 1_000_000_000))
  }
}

extension PendingNode {
  /// The time of the last write, or of set times since.
  fileprivate var lastWrite: Attributes.Time { hasSetTime ? changed : attributes.mtime ?? changed }
}
