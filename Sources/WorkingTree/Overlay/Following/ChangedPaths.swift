package import Inodes

/// The paths at which a new head has something else than the version that took what programs saw there.
package struct ChangedPaths: Sendable {
  private var paths: Set<TreePath> = []
  private var above: Set<TreePath> = []

  /// Creates paths of a head that changes nothing.
  package init() {}

  /// True if nothing changed.
  package var isEmpty: Bool { paths.isEmpty }

  /// Adds a path.
  package mutating func insert(_ path: TreePath) {
    guard paths.insert(path).inserted else { return }
    var directory = path
    while !directory.isRoot {
      directory = directory.parent
      guard above.insert(directory).inserted else { return }
    }
  }

  /// True if a path changed.
  func contains(_ path: TreePath) -> Bool { paths.contains(path) }

  /// True if anything below a path changed.
  func containsBelow(_ path: TreePath) -> Bool { above.contains(path) }
}
