import Inodes
import LLVSCore
import TreeNames

/// A name at which a head has something else than the version that took what programs saw there.
struct ForeignName {
  /// Its path in the versions.
  var path: TreePath
  /// The name, as far as its directory existed before the head.
  var place: InodeName?
  /// The inode that the recorded tree had at it before the head.
  var recorded: InodeNumber?
}

extension PathDiff {
  /// Calls a closure with each path at which the trees of two maps show something else, once.
  ///
  /// - Throws: ``StoreError`` if a map cannot be read, and what the closure throws.
  static func forEachPath(
    from before: TreeView, to after: TreeView, _ body: (TreePath) throws(StoreError) -> Void
  ) throws(StoreError) {
    var diff = try PathDiff(from: before, to: after)
    var known: Set<TreePath> = []
    while let step = try diff.next() {
      let path = step.change.path
      // A path that goes and comes again has two steps.
      if known.insert(path).inserted { try body(path) }
    }
  }
}

extension PathDiff.Step {
  /// The change, whichever way it goes.
  var change: PathChange {
    switch self {
    case .gone(let change), .come(let change), .changed(let change): change
    }
  }
}

extension ChangedPaths {
  /// Finds the paths at which the trees of two versions show something else.
  ///
  /// - Throws: ``StoreError`` if a map cannot be read.
  init(from before: TreeView, to after: TreeView) throws(StoreError) {
    self.init()
    try PathDiff.forEachPath(from: before, to: after) { (path) throws(StoreError) in insert(path) }
  }
}
