import LLVSCore
import TreeNames

// How far names may lead: what is made or moved has a path that a version can hold.

extension LiveTree {
  /// After so many names of the base below a directory that is renamed no more are looked at: the next
  /// version names what it cannot hold.
  private static let looksAtMost = 1 << 16

  /// A directory that goes deeper down, or to a longer name, with all that it holds.
  struct Descent {
    /// Where it goes.
    fileprivate var to: PathExtent
    /// The most names and bytes that what is in memory has below it.
    fileprivate var pending = PathExtent()
    /// Directories of the base, and where they stand seen from it.
    fileprivate var bases: [(path: [UInt8], at: PathExtent)] = []
    fileprivate var view: TreeView
  }

  /// Whether a name may be made in a directory; call with the lock held.
  ///
  /// - Throws: ``FSError/nameTooLong``.
  /// - Complexity: O(depth).
  func checkReach(_ name: [UInt8], in directory: LiveNode) throws(FSError) {
    guard PathLimit.allows(directory.extent.adding(PathExtent(name: name))) else {
      throw .nameTooLong
    }
  }

  /// What has to be looked at before a node goes to a name; nil for what goes no deeper. Call with the lock
  /// held.
  ///
  /// - Complexity: O(*n*) for what is in memory below it.
  func descent(of node: LiveNode, to name: [UInt8], in directory: LiveNode) -> Descent? {
    guard node.kind == .directory else { return nil }
    let (old, new) = (node.extent, directory.extent.adding(PathExtent(name: name)))
    guard new.names > old.names || new.bytes > old.bytes else { return nil }
    var descent = Descent(to: new, view: base)
    var open = [(node, PathExtent())]
    while let (node, extent) = open.popLast() {
      guard let directory = node.directory else { continue }
      if let path = directory.basePath { descent.bases.append((path, extent)) }
      for (name, override) in directory.overrides {
        guard let child = override.node else { continue }
        let here = extent.adding(PathExtent(name: name))
        descent.pending.names = max(descent.pending.names, here.names)
        descent.pending.bytes = max(descent.pending.bytes, here.bytes)
        open.append((child, here))
      }
    }
    return descent
  }

  /// Looks at it; call without the lock: reads the base.
  ///
  /// - Throws: ``FSError/nameTooLong``, or what the store says.
  func check(_ descent: Descent) throws(FSError) {
    guard PathLimit.allows(descent.to.adding(descent.pending)) else { throw .nameTooLong }
    var looked = 0
    for base in descent.bases {
      let place = descent.to.adding(base.at)
      var fits = true
      try FSError.wrapping { () throws(StoreError) in
        try descent.view.visitPaths(below: base.path) { relative in
          looked += 1
          fits = PathLimit.allows(place.adding(PathExtent(path: relative)))
          return fits && looked < Self.looksAtMost
        }
      }
      guard fits else { throw .nameTooLong }
    }
  }
}

extension LiveNode {
  /// How long its path is.
  fileprivate var extent: PathExtent {
    var extent = PathExtent()
    var node = self
    while let above = node.parent {
      extent = node.withName { PathExtent(name: $0) }.adding(extent)
      node = above
    }
    return extent
  }
}
