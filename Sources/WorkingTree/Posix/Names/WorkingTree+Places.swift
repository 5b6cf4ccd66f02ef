import Inodes
import LLVSCore
import TreeNames

// Questions about places in the tree, with the lock held.

extension WorkingTree {
  /// Makes sure that a directory is in the tree, so that a name can be made in it.
  ///
  /// - Throws: ``FSError/notDirectory``, ``FSError/stale`` for a number that nobody has, ``FSError/noEntry`` for a
  ///   directory that was removed.
  func checkHasNames(
    _ directory: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) {
    try checkDirectory(directory, state, base)
    guard directory != .root else { return }
    guard try place(of: directory, state, base) != nil else { throw .noEntry }
  }

  /// Returns the place of a directory; nil for the root, and for one that was removed.
  func place(
    of directory: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> InodeName? {
    guard directory != .root, state.removed[directory] == nil else { return nil }
    if state.overlay.nodes.contains(directory) { return state.overlay.nodes.place(of: directory) }
    return try FSError.wrapping { () throws(BaseError) in try base.names(of: directory).first }
  }

  /// Returns the directories above one, from it up to the root, with the names that lead to each.
  ///
  /// - Complexity: O(depth).
  func directories(
    above start: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [InodeName] {
    var places: [InodeName] = []
    var number = start
    while let place = try place(of: number, state, base) {
      // A tree that leads back to itself is damaged.
      guard places.count <= Self.mostNames else {
        throw .store(.corrupt("a directory of the working tree is in itself"))
      }
      places.append(place)
      number = place.directory
    }
    return places
  }

  /// No path has so many names.
  private static let mostNames = 4096

  /// Makes sure that nothing is in a directory.
  ///
  /// - Throws: ``FSError/notEmpty``.
  /// - Complexity: O(*k*) for *k* names that were removed from it.
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
    let recorded = try FSError.wrapping { () throws(BaseError) in
      try base.count(of: directory, atMost: hidden + 1)
    }
    guard recorded <= hidden else { throw .notEmpty }
  }

  /// The entries that are read of the recorded tree at once.
  static let pageSize = 512
}
