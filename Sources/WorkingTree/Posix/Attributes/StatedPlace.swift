package import Inodes
package import LLVSCore
package import TreeNames

/// A file or directory, and its relation to versions.
package struct StatedPlace: Hashable, Sendable {
  package var path: TreePath
  /// The state, as in `user.llvs.state`.
  package var state: PendingState
  /// The version that stored it; nil for none.
  package var version: VersionNumber?
}

package enum PendingState: String, Hashable, Sendable {
  /// The head has it unchanged.
  case committed
  /// The next version takes its saved state.
  case pending
  /// No save covers its bytes.
  case unsaved
  /// A pattern keeps it out of versions.
  case scratch
}

extension WorkingTree {
  /// Returns a path of a file or directory and its relation to versions, in O(depth). Throws ``FSError/noData`` for
  /// an inode without a name, ``FSError/stale``, or the error of the recorded tree.
  package func statedPlace(of number: InodeNumber) throws(FSError) -> StatedPlace {
    let (place, unrecorded) = try answer { state, base throws(FSError) in
      try checkIsShown(number, state, base)
      let places = try places(of: number, state, base)
      let path = places.reversed().reduce(TreePath.root) { $0.appending($1.name) }
      guard number == .root || !path.isRoot else { throw .noData }
      let recorded = try FSError.translating(try base.inode(number))
      let stated = StatedPlace(
        path: path.own, state: state.overlay.nodes[number]?.pendingState ?? .committed,
        version: recorded?.record.origin)
      return (stated, Self.unrecorded(places, path, state.overlay))
    }
    guard !unrecorded.isEmpty else { return place }
    let scope = try ignoreScope(of: place.path)
    let isScratch = unrecorded.contains { (path, isDirectory) in
      scope.ignores(path: path.bytes, isDirectory: isDirectory)
    }
    guard isScratch else { return place }
    return StatedPlace(path: place.path, state: .scratch, version: place.version)
  }

  /// Returns a name of an inode and those of the directories above it; none for the root.
  private func places(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [InodeName] {
    guard number != .root, let name = try names(of: number, state, base).first else { return [] }
    return [name] + (try directories(above: name.directory, state, base))
  }

  /// Returns the names on a path that patterns can keep out of versions, because no version has them or what they
  /// name.
  private static func unrecorded(
    _ places: [InodeName], _ path: TreePath, _ overlay: Overlay
  ) -> [(path: TreePath, isDirectory: Bool)] {
    var (path, found) = (path, [(path: TreePath, isDirectory: Bool)]())
    for place in places {
      if let change = overlay.changes[place], !change.hidesRecorded,
        let node = change.inode.flatMap({ overlay.nodes[$0] }),
        !node.isDirectory || node.recordedNames.isEmpty
      {
        found.append((path, node.isDirectory))
      }
      path = path.parent
    }
    return found
  }
}

extension PendingNode {
  /// The state without regard to patterns.
  fileprivate var pendingState: PendingState {
    if file?.isUnsaved ?? false { return .unsaved }
    return isPending || Set(names) != Set(recordedNames) ? .pending : .committed
  }
}
