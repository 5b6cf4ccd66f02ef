import LLVSCore
import Platform
package import TreeNames

// Look-up of nodes by their numbers, which name_to_handle_at(2) gives to programs. The kernel may have
// forgotten the node meanwhile, and the store may have been mounted anew.

extension LiveTree {
  /// Finds the node of a number, or the directory above it, and raises its look-up count; `forget`
  /// lowers that.
  ///
  /// - Throws: ``FSError/stale`` if the file is gone, or if the number is that of a directory without an
  ///   entry in the head that this tree has not in memory; ``FSError/store(_:)`` if the head cannot be
  ///   read.
  /// - Complexity: O(1) for a node in memory and for one that left it lately, otherwise O(*n*) for *n*
  ///   entries of the head.
  package func lookup(number: UInt64, above: Bool = false) throws(FSError) -> NodeStatus {
    var found = try lookupKnown(number)
    if found == nil { found = try lookupForgotten(number) }
    guard let found else { throw .stale }
    guard above else { return counting(found) }
    defer { forget(found.node, count: 1) }
    return counting(
      try lock.withLock { _ throws(FSError) in
        let parent = try node(found.node).parent ?? root
        parent.lookups += 1
        return status(of: parent)
      })
  }

  private func lookupKnown(_ number: UInt64) throws(FSError) -> NodeStatus? {
    try lock.withLock { _ throws(FSError) in
      guard let node = known(number) else { return nil }
      // The file has no name any more, and the kernel is about to forget it.
      guard node.parent != nil || node.handles > 0 || node.inode == Self.rootInode else {
        throw .stale
      }
      node.lookups += 1
      return status(of: node)
    }
  }

  private func lookupForgotten(_ number: UInt64) throws(FSError) -> NodeStatus? {
    let path = lock.withLock { _ -> [UInt8]? in
      isExported = true
      return whereabouts[number]
    }
    if let path, let found = try lookup(number, at: path) { return found }
    guard let path = try recordedPath(of: number) else { return nil }
    if let found = try lookup(number, at: path) { return found }
    guard let moved = lock.withLock({ _ in movedPath(path) }) else { return nil }
    return try lookup(number, at: moved)
  }

  /// Returns the path of a number in the head; nil if there is none.
  private func recordedPath(of number: UInt64) throws(FSError) -> [UInt8]? {
    let view = lock.withLock { _ in names }
    return try FSError.wrapping { () throws(StoreError) in
      var walk = view.entries(below: [])
      while let (relative, entry) = try walk.next() {
        guard entry.inode == number else { continue }
        return entry.isDirectory ? relative : try view.path(of: entry.key)
      }
      return nil
    }
  }

  /// Returns the present path of a path in the head that lies in a directory which was renamed since;
  /// nil if it lies in none. Call with the lock held.
  private func movedPath(_ path: [UInt8]) -> [UInt8]? {
    var best: (base: [UInt8], node: LiveNode)?
    // A renamed directory is pending, so it is in memory.
    for node in directories.values where node.isTouched {
      guard let base = node.directory?.basePath, !base.isEmpty,
        base.count > best?.base.count ?? 0, path.count > base.count, path[base.count] == 0x2F,
        path.starts(with: base)
      else { continue }
      best = (base, node)
    }
    guard let best, let now = best.node.path else { return nil }
    return now + path[best.base.count...]
  }

  /// Looks up a path; nil if the node there does not have the number. Counts a look-up of the node.
  private func lookup(_ number: UInt64, at path: [UInt8]) throws(FSError) -> NodeStatus? {
    var above: [UInt64] = []
    defer { for node in above.reversed() { forget(node, count: 1) } }
    var parent = Self.rootInode
    for name in path.split(separator: 0x2F) {
      do throws(FSError) {
        let status = try lookup(parent, Array(name))
        above.append(status.node)
        parent = status.node
      } catch .noEntry {
        return nil
      } catch .notDirectory {
        return nil
      }
    }
    guard parent == number, above.popLast() != nil else { return nil }
    return try getattr(number)
  }
}
