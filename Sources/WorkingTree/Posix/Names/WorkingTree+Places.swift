import Inodes
import LLVSCore
import TreeNames

extension WorkingTree {
  /// Checks that names can be made in a directory; throws ``FSError/notDirectory``, ``FSError/stale`` for an
  /// unknown number, ``FSError/noEntry`` for a removed directory.
  func checkHasNames(
    _ directory: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) {
    try checkDirectory(directory, state, base)
    guard directory != .root else { return }
    guard try place(of: directory, state, base) != nil else { throw .noEntry }
  }

  /// Returns the place of a directory; nil for the root and removed ones.
  func place(
    of directory: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> InodeName? {
    guard directory != .root, state.removed[directory] == nil else { return nil }
    if state.overlay.nodes.contains(directory) { return state.overlay.nodes.place(of: directory) }
    return try FSError.translating(try base.names(of: directory).first)
  }

  /// Returns a directory and those above it up to the root, with their names, in O(depth).
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

  static let pageSize = 512
}
