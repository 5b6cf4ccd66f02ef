import MountedTree

/// A tree that keeps something in memory for each name that the kernel remembers.
protocol RememberedNames: AnyObject, Sendable {
  /// The number of names in memory.
  var nodeCount: Int { get }
  /// The number of nodes and changes whose memory was given up.
  var freedCount: Int { get }
  /// Says who is told, once, when the names are too many, and when the memory of many was given up.
  func tellCrowd(
    isCrowded: @escaping @Sendable () -> Void, isThinned: @escaping @Sendable () -> Void)
  /// Has it told when there are more names than `limit`; returns their number.
  func watchCrowd(limit: Int) -> Int
  /// Begins to count anew what is freed.
  func resetFreed()
  /// Returns names whose loss makes the kernel forget about so many nodes.
  func coldNames(toFree wanted: Int, sparing use: KernelUse) -> [KernelName]
}

extension LiveTree {
  /// The tree as one that remembers names for the kernel; nil if it does not.
  var remembered: (any RememberedNames)? {
    #if LLVS_POSIX_TREE
      nil
    #else
      self
    #endif
  }
}

#if !LLVS_POSIX_TREE
  extension LiveTree: RememberedNames {}
#endif
