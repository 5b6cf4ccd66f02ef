// Guarded by `LiveTree.lock`, as the node.

/// What stands at a name of a directory differently from the base.
struct Override {
  /// The node, nil for a name that went away.
  var node: LiveNode?
  /// The epoch in which the name was made or removed.
  var epoch: UInt64
  /// The tree's stamp when it changed.
  var stamp: UInt64
  /// Whether the base has something at the name: then its absence must be remembered, and no pattern
  /// makes it scratch.
  var hidesBase: Bool
  /// Who made or removed it, and so has seen what a cut takes of it; 0 where nobody knows.
  var process: Int32 = 0
}

/// The pending side of a directory.
final class LiveDirectory {
  /// Where its unchanged children stand in the base; nil if it is not in the base.
  var basePath: [UInt8]?
  var overrides: [[UInt8]: Override] = [:]
  /// Grows with every change of a name.
  var stamp: UInt64 = 0
  /// Nodes whose parent its node is.
  var pins: Int32 = 0
  /// Open handles of it.
  var readers: Int32 = 0
  /// As how many nodes more it counts for the memory of its path.
  var weight = 0
  /// When a name was last looked for in it, as the tree counts look-ups.
  var used: UInt64 = 0
  var subdirectories = SubdirectoryCount()

  init(basePath: [UInt8]?) {
    self.basePath = basePath
  }
}
