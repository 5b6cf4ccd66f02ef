import Inodes
import LLVSCore
import Platform
package import TreeNames

extension LiveTree {
  /// The names that differ from the head, saved or not, in ascending order of path; those that patterns
  /// keep out of versions are left out.
  ///
  /// - Returns: nil where there are more than `limit`.
  /// - Complexity: O(*k* log *k*) for *k* pending names, in memory.
  package func pendingPaths(atMost limit: Int) throws(FSError) -> [PendingPath]? {
    let found = lock.withLock { _ -> [PendingPath]? in
      var found: [PendingPath] = []
      return collectPending(root, at: [], &found, limit) ? found : nil
    }
    return found?.sorted { $0.path < $1.path }
  }

  private func collectPending(
    _ node: LiveNode, at path: [UInt8], _ found: inout [PendingPath], _ limit: Int
  ) -> Bool {
    for (name, override) in node.directory?.overrides ?? [:] {
      guard found.count < limit else { return false }
      let childPath = path.isEmpty ? name : path + [0x2F] + name
      guard let child = override.node else {
        if override.hidesBase {
          found.append(PendingPath(change: .gone, path: TreePath(childPath), isDirectory: false))
        }
        continue
      }
      if isIgnored(child, override, at: childPath) { continue }
      let isDirectory = child.kind == .directory
      if isDirectory, let base = child.directory?.basePath, base != childPath {
        // All that the base has below its old name came along.
        found.append(PendingPath(change: .new, path: TreePath(childPath), isDirectory: true))
        continue
      }
      let isNew = !child.isInBase && child.directory?.basePath == nil || child.isMoved
      if isNew, isDirectory || !override.hidesBase {
        found.append(PendingPath(change: .new, path: TreePath(childPath), isDirectory: isDirectory))
      } else if isNew || isPending(child) {
        found.append(
          PendingPath(change: .changed, path: TreePath(childPath), isDirectory: isDirectory))
      }
      guard collectPending(child, at: childPath, &found, limit) else { return false }
    }
    return true
  }
}
