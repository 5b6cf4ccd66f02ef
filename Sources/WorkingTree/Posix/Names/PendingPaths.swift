package import Inodes
package import TreeNames

/// A name that the next version may change.
package struct PendingPath: Hashable, Sendable {
  package enum Change: UInt8, Hashable, Sendable {
    /// New, with all that it brings from another name.
    case new = 0x2B
    /// Removed, with all that was below it.
    case gone = 0x2D
    /// Another file, or other bytes or attributes.
    case changed = 0x2A
  }

  package var change: Change
  package var path: TreePath
  package var isDirectory: Bool
}

/// The numbers of pending names, for status.
package struct PendingSummary: Hashable, Sendable {
  /// Names with another file, other bytes or other attributes.
  package var changed = 0
  package var new = 0
  package var removed = 0
  package var unsaved: [TreePath] = []
  /// The saved files whose names new heads gave to others: the next version takes them as changes of those names.
  package var beside: [TreePath] = []
}

extension WorkingTree {
  /// Returns the names that differ from the head, sorted by path, without ignored ones; nil if there are more than
  /// `limit`. Takes O(*k* log *k*) for *k* pending names; throws the error of the recorded tree.
  package func pendingPaths(atMost limit: Int) throws(FSError) -> [PendingPath]? {
    var ignored = IgnoredNames(self)
    var paths: [PendingPath] = []
    for item in PendingNames(state { $0.overlay }).items where !item.isBrought {
      guard try !ignored.contains(item.path.path, item.unrecorded) else { continue }
      guard paths.count < limit else { return nil }
      paths.append(item.path)
    }
    return paths.sorted { $0.path < $1.path }
  }

  /// Counts what is pending, in O(*k* log *k*) for *k* pending names and files; throws the error of the recorded
  /// tree.
  package func pendingSummary() throws(FSError) -> PendingSummary {
    let overlay = state { $0.overlay }
    var names = PendingNames(overlay)
    var ignored = IgnoredNames(self)
    var summary = PendingSummary()
    for item in names.items {
      guard try !ignored.contains(item.path.path, item.unrecorded) else { continue }
      switch item.counted {
      case .new: summary.new += 1
      case .gone: summary.removed += 1
      case .changed: summary.changed += 1
      }
    }
    for (_, node) in overlay.nodes {
      guard let file = node.file, file.isPending else { continue }
      if let path = overlay.detachedPath(of: node) {
        if file.isUnsaved { summary.unsaved.append(path) }
        if file.saved != nil { summary.beside.append(path) }
      } else if file.isUnsaved, let name = node.names.first, let stated = names.stated(name) {
        guard try !ignored.contains(stated.path, stated.unrecorded) else { continue }
        summary.unsaved.append(stated.path)
      }
    }
    summary.unsaved.sort()
    summary.beside.sort()
    return summary
  }
}

/// The ignored names; the patterns of each directory are read once.
private struct IgnoredNames {
  private let tree: WorkingTree
  private var scopes: [TreePath: IgnoreScope] = [:]
  init(_ tree: WorkingTree) { self.tree = tree }

  mutating func contains(
    _ path: TreePath, _ unrecorded: [PendingNames.Unrecorded]
  ) throws(FSError) -> Bool {
    guard !unrecorded.isEmpty else { return false }
    let scope = try scope(of: path)
    return unrecorded.contains { scope.ignores(path: $0.path.bytes, isDirectory: $0.isDirectory) }
  }

  private mutating func scope(of path: TreePath) throws(FSError) -> IgnoreScope {
    if let known = scopes[path.parent] { return known }
    let scope = try tree.ignoreScope(of: path)
    scopes[path.parent] = scope
    return scope
  }
}

extension Overlay {
  /// The path where a new head took the name of a file that is still held.
  fileprivate func detachedPath(of node: PendingNode) -> TreePath? {
    guard case .detached(let place, let path, _)? = node.orphan else { return nil }
    return path ?? place.flatMap { self.path(of: $0.directory)?.appending($0.name) }
  }
}
