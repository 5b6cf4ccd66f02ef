import Inodes
import LLVSCore
import TreeNames

// The times that programs saw before what they did became a version.

extension Advance {
  /// Lets what the cut took go on showing the times that it had: a version that is made of them changes nothing
  /// for programs.
  func keepTimes() throws {
    guard !hints.times.isEmpty else { return }
    let foreign = try pathsOfOthers()
    for (path, times) in hints.times.sorted(by: { $0.key < $1.key }) where !foreign.contains(path) {
      let number = path.isRoot ? .root : try entry(at: path)?.inode.number
      guard let number, let old = try rows.inode(number)?.inode.record else { continue }
      var record = old
      record.changed = times.changed
      record.shownTime = times.modified == old.attributes.mtime ? nil : times.modified
      if record != old { try rows.update(record, of: number, from: old) }
    }
  }

  /// The paths at which others changed something, and the directories in which they changed names.
  private func pathsOfOthers() throws -> Set<TreePath> {
    guard let own = hints.own, own.map.root != after.map.root else { return [] }
    var paths: Set<TreePath> = []
    var diff = try PathDiff(from: own, to: after)
    while let step = try diff.next() {
      switch step {
      case .gone(let change), .come(let change):
        paths.insert(change.path)
        paths.insert(change.path.parent)
      case .changed(let change):
        paths.insert(change.path)
        // Other bytes are another file, which the name leads to from now on.
        if change.hasOtherFile { paths.insert(change.path.parent) }
      }
    }
    return paths
  }
}

extension PathChange {
  /// True if the trees show values of other bytes.
  fileprivate var hasOtherFile: Bool {
    guard case .value(let old)? = before, case .value(let new)? = after else { return false }
    return FileIdentity(old) != FileIdentity(new)
  }
}
