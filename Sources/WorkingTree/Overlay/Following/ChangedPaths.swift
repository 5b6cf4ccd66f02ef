package import Inodes

/// The paths at which a new head differs from the version that took what programs saw.
package struct ChangedPaths: Sendable {
  private var paths: Set<TreePath> = []
  private var above: Set<TreePath> = []
  package init() {}
  package var isEmpty: Bool { paths.isEmpty }

  package mutating func insert(_ path: TreePath) {
    guard paths.insert(path).inserted else { return }
    var directory = path
    while !directory.isRoot {
      directory = directory.parent
      guard above.insert(directory).inserted else { return }
    }
  }

  func contains(_ path: TreePath) -> Bool { paths.contains(path) }
  func containsBelow(_ path: TreePath) -> Bool { above.contains(path) }
}
