package import Inodes
import LLVSCore
package import TreeNames

/// How rename(2) and renameat2(2) treat an inode at the new name.
package enum RenameMode: Sendable {
  case replacing
  /// It is an error.
  case noReplace
  /// It gets the old name.
  case exchange
}

extension WorkingTree {
  /// Renames a file or directory, as rename(2) and renameat2(2), and returns the inodes whose names changed. Throws
  /// ``FSError/noEntry``, ``FSError/exists``, ``FSError/isDirectory``, ``FSError/notDirectory``,
  /// ``FSError/notEmpty``, ``FSError/invalid`` for a directory that would be in itself, ``FSError/nameTooLong``,
  /// ``FSError/readOnly`` for the name `.llvs`, ``FSError/crossDevice`` for a directory that goes to scratch next to
  /// what came, or the error of the journal: then nothing has changed.
  @discardableResult
  package func rename(
    _ from: InodeName, to target: InodeName, mode: RenameMode, process: Int32 = 0
  ) throws(FSError) -> [InodeNumber] {
    let longest = max(from.name.bytes.count, target.name.bytes.count)
    guard longest <= Self.longestName else { throw .nameTooLong }
    guard from.name.bytes != ReservedName.bytes, target.name.bytes != ReservedName.bytes else {
      throw .readOnly
    }
    confirm(process)
    var isMeasured = false
    while true {
      let (moved, descents) = try withRoom { () throws(FSError) in
        try change(by: process, mayUseReserve: true) { state, base throws(FSError) in
          try decide(from, to: target, mode, process, isMeasured: isMeasured, state, base)
        }
      }
      guard !descents.isEmpty else { return moved }
      for descent in descents { try check(descent) }
      isMeasured = true
    }
  }

  /// Decides about a rename, with the lock held. Returns what to check first, and then changes nothing; empty once
  /// the rename is made.
  private func decide(
    _ source: InodeName, to destination: InodeName, _ mode: RenameMode, _ process: Int32,
    isMeasured: Bool, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> Decision<(moved: [InodeNumber], descents: [Descent])> {
    let from = try place(shownAt: source, state, base)
    let target = try place(shownAt: destination, state, base)
    let number = try present(at: from, state, base)
    try checkHasNames(target.directory, state, base)
    let over = try inode(at: target, state, base)
    let rename = Renaming(number: number, from: from, over: over, to: target, mode: mode)
    try check(rename, state, base)
    guard over != number else { return Decision { _ in ([], []) } }
    if try bringsDirectoryAside(rename, state, base) { throw .crossDevice }
    try checkReach(target, state, base)
    if mode == .exchange { try checkReach(from, state, base) }
    let descents = isMeasured ? [] : try self.descents(of: rename, state, base)
    guard descents.isEmpty else { return Decision { _ in ([], descents) } }
    if let over, mode == .replacing, try kind(of: over, state, base) == .directory {
      try checkEmpty(over, state, base)
    }
    let seen = try seen(by: process, rename, state, base)
    let isKept = over.map { state.isHeld($0) } ?? false
    let moved = over.map { [number, $0] } ?? [number]
    return Decision(
      concerned: moved + [from.directory, target.directory],
      operations: [
        rename.operation(
          isKept: isKept, by: state.remover(process, of: number, at: from), seen: seen)
      ]
    ) { _ in (moved, []) }
  }

  /// Returns the directories that a rename brings to a longer path.
  private func descents(
    of rename: Renaming, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [Descent] {
    var descents = [
      try descent(of: rename.number, from: rename.from, to: rename.to, state, base)
    ]
    if rename.mode == .exchange, let over = rename.over {
      descents.append(try descent(of: over, from: rename.to, to: rename.from, state, base))
    }
    return descents.compactMap(\.self)
  }

  private struct Renaming {
    let number: InodeNumber
    let from: InodeName
    let over: InodeNumber?
    let to: InodeName
    let mode: RenameMode

    func operation(
      isKept: Bool, by remover: Change.Remover, seen: (target: Epoch?, from: Epoch?)
    ) -> Change.Operation {
      if mode == .exchange, let over {
        return .exchange(
          number, at: from, with: over, otherAt: to, seen: seen.from, otherSeen: seen.target)
      }
      return .rename(
        number, from: from, to: to, over: over, isKept: isKept, by: remover, seen: seen.target)
    }
  }

  /// Returns the epoch that a process saw at the names that it gives to files.
  private func seen(
    by process: Int32, _ rename: Renaming, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> (target: Epoch?, from: Epoch?) {
    guard process != 0 else { return (nil, nil) }
    func seen(_ number: InodeNumber, at place: InodeName, over: InodeNumber?) throws(FSError)
      -> Epoch?
    {
      guard try kind(of: number, state, base) != .directory else { return nil }
      return state.seen(by: process, at: place, over: over)
    }
    let target = try seen(rename.number, at: rename.to, over: rename.over)
    guard rename.mode == .exchange, let over = rename.over else { return (target, nil) }
    return (target, try seen(over, at: rename.from, over: rename.number))
  }

  private func check(
    _ rename: Renaming, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) {
    if rename.mode == .noReplace, rename.over != nil { throw .exists }
    if rename.mode == .exchange, rename.over == nil { throw .noEntry }
    let isDirectory = try kind(of: rename.number, state, base) == .directory
    if isDirectory, try isInside(rename.to.directory, rename.number, state, base) { throw .invalid }
    guard let over = rename.over, over != rename.number else { return }
    let replacesDirectory = try kind(of: over, state, base) == .directory
    let isFromInside =
      replacesDirectory ? try isInside(rename.from.directory, over, state, base) : false
    if rename.mode == .exchange {
      if isFromInside { throw .invalid }
      return
    }
    if isFromInside { throw .notEmpty }
    if isDirectory, !replacesDirectory { throw .notDirectory }
    if !isDirectory, replacesDirectory { throw .isDirectory }
  }

  /// True if a directory goes to or below an aside name, where no version would have what versions have of it. A
  /// program that moves it copies it then.
  private func bringsDirectoryAside(
    _ rename: Renaming, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> Bool {
    guard state.overlay.asideCount > 0 else { return false }
    func isAside(_ place: InodeName) throws(FSError) -> Bool {
      if place.isAside { return true }
      return try directories(above: place.directory, state, base).contains { $0.isAside }
    }
    let (old, new) = (try isAside(rename.from), try isAside(rename.to))
    guard old != new else { return false }
    let moved = new ? rename.number : rename.mode == .exchange ? rename.over : nil
    guard let moved else { return false }
    return try kind(of: moved, state, base) == .directory
  }

  /// True if a directory is the other one or below it.
  private func isInside(
    _ directory: InodeNumber, _ above: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> Bool {
    guard directory != above else { return true }
    return try directories(above: directory, state, base).contains { $0.directory == above }
  }
}
