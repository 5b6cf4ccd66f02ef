import Inodes
import LLVSCore
import TreeNames

/// A name at which a head differs from the version that took what programs saw.
struct ForeignName {
  var path: TreePath
  /// The name, if its directory existed before the head.
  var place: InodeName?
  /// The inode that the recorded tree had at the name before the head.
  var recorded: InodeNumber?
}

extension PathDiff {
  /// Calls `body` once with each path at which the content of two maps' trees differs.
  /// - Throws: ``StoreError`` if a map cannot be read, and the errors of `body`.
  static func forEachPath(
    from before: TreeView, to after: TreeView, _ body: (TreePath) throws(StoreError) -> Void
  ) throws(StoreError) {
    var diff = try PathDiff(from: before, to: after)
    var known: Set<TreePath> = []
    while let step = try diff.next() {
      guard step.change.changesContent else { continue }
      let path = step.change.path
      // A path that is removed and added has two steps.
      if known.insert(path).inserted { try body(path) }
    }
  }
}

extension NumberHints {
  /// Calls `body` once with each path at which a head differs from the version that took what programs saw there:
  /// `own`, or one next to the head.
  /// - Throws: ``StoreError`` if a map cannot be read, and the errors of `body`.
  func forEachForeignPath(
    from own: TreeView, to after: TreeView, _ body: (TreePath) throws(StoreError) -> Void
  ) throws(StoreError) {
    try PathDiff.forEachPath(from: own, to: after) { (path) throws(StoreError) in
      if taker(of: path) == nil { try body(path) }
    }
    for tree in others {
      try PathDiff.forEachPath(from: tree, to: after) { (path) throws(StoreError) in
        if taker(of: path)?.map.root == tree.map.root { try body(path) }
      }
    }
  }
}

extension PathDiff.Step {
  var change: PathChange {
    switch self {
    case .gone(let change), .come(let change), .changed(let change): change
    }
  }
}
