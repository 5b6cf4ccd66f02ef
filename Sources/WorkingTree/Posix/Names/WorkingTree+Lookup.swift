package import Inodes
import LLVSCore
package import TreeNames

extension WorkingTree {
  /// Looks a name up; the kernel then knows the inode, with attributes for `thread` if it is not nil. Throws
  /// ``FSError/noEntry``, ``FSError/notDirectory``, ``FSError/stale``, or the error of the recorded tree.
  package func lookup(
    _ directory: InodeNumber, _ name: FileName, thread: Int32? = nil
  ) throws(FSError) -> InodeStatus {
    guard name.bytes.count <= Self.longestName else { throw .nameTooLong }
    return try answer { state, base throws(FSError) in
      try checkDirectory(directory, state, base)
      let place = try place(shownAt: InodeName(directory: directory, name: name), state, base)
      guard let number = try inode(at: place, state, base) else { throw .noEntry }
      let status = try status(of: number, state, base)
      state.noteLookup(number)
      state.noteReader(thread, of: number)
      return status
    }
  }

  /// Returns the attributes of an inode, for `thread` if it is not nil. Throws ``FSError/stale``, or the error of
  /// the recorded tree.
  package func status(of number: InodeNumber, thread: Int32? = nil) throws(FSError) -> InodeStatus {
    try answer { state, base throws(FSError) in
      try checkIsShown(number, state, base)
      state.noteReader(thread, of: number)
      return try status(of: number, state, base)
    }
  }

  /// Forgets look-ups of an inode, as the kernel does. An orphan without another holder is removed.
  package func forget(_ number: InodeNumber, count: UInt64) {
    if state({ $0.forget(number, count: count) }) { release(number) }
  }

  static let longestName = 255

  @inline(__always)
  func inode(
    at place: InodeName, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> InodeNumber? {
    if case .pending(let number) = state.overlay.shown(at: place) { return number }
    guard state.overlay.isRecorded(place.directory), !state.isRemoved(place.directory) else {
      return nil
    }
    return try FSError.translating(try base.number(at: place))
  }

  /// Checks that programs can see an inode. The recorded tree still has what programs removed, but a held inode is
  /// pending then, and an unheld one has no names. Throws ``FSError/stale``.
  @inline(__always)
  func checkIsShown(
    _ number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) {
    guard number != .root, !state.overlay.nodes.contains(number), !state.isHeld(number) else {
      return
    }
    let names = try FSError.translating(try base.names(of: number))
    for name in names where try inode(at: name, state, base) == number { return }
    throw .stale
  }

  /// Returns the place in the tree of a name that a program uses.
  @inline(__always)
  func place(
    shownAt shown: InodeName, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> InodeName {
    guard shown.name.bytes.count <= Self.longestName else { throw .nameTooLong }
    guard state.overlay.asideCount > 0 else { return shown }
    return try FSError.translating(try state.overlay.place(shownAt: shown, over: base))
  }

  @inline(__always)
  func checkDirectory(
    _ number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) {
    guard let kind = try kind(of: number, state, base) else { throw .stale }
    guard kind == .directory else { throw .notDirectory }
  }

  @inline(__always)
  func kind(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> EntryKind? {
    if number == .root { return .directory }
    if let kind = state.overlay.nodes.kind(of: number) { return kind }
    if state.isRemoved(number) { return .directory }
    return try FSError.translating(try base.known(number)?.inode.record.kind)
  }

  /// Checks that names can be made in a directory; throws ``FSError/notDirectory``, ``FSError/stale`` for an
  /// unknown number, ``FSError/noEntry`` for a removed directory.
  @inline(__always)
  func checkHasNames(
    _ directory: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) {
    try checkDirectory(directory, state, base)
    guard directory != .root else { return }
    guard try place(of: directory, state, base) != nil else { throw .noEntry }
  }

  /// Returns the place of a directory; nil for the root and removed ones.
  @inline(__always)
  func place(
    of directory: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> InodeName? {
    guard directory != .root, !state.isRemoved(directory) else { return nil }
    if state.overlay.nodes.contains(directory) { return state.overlay.nodes.place(of: directory) }
    return try FSError.translating(try base.names(of: directory).first)
  }

  /// Returns a directory and those above it up to the root, with their names, in O(depth).
  @inline(__always)
  func directories(
    above start: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [InodeName] {
    var places: [InodeName] = []
    var number = start
    while let place = try place(of: number, state, base) {
      // A cyclic tree is damaged.
      guard places.count <= Self.mostNames else {
        throw .store(.corrupt("a directory of the working tree is in itself"))
      }
      places.append(place)
      number = place.directory
    }
    return places
  }

  private static let mostNames = 4096

  /// Throws ``FSError/notEmpty`` unless a directory is empty; takes O(*k*) for *k* names removed from it.
  func checkEmpty(
    _ directory: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) {
    var hidden = 0
    for name in state.overlay.changedNames(of: directory) {
      let change = state.overlay.changes[InodeName(directory: directory, name: name)]
      if change?.inode != nil { throw .notEmpty }
      if change?.hidesRecorded ?? false { hidden += 1 }
    }
    // Each of them hides an entry of its own.
    let recorded = try FSError.translating(try base.count(of: directory, atMost: hidden + 1))
    guard recorded <= hidden else { throw .notEmpty }
  }

  static let pageSize = 1024
}
