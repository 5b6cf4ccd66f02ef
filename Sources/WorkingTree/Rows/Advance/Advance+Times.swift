import Inodes
import LLVSCore
import TreeNames

// The times that programs saw before what they did became a version.

extension Advance {
  /// Lets what the cut took go on showing the times that it had: a version that is made of them changes nothing
  /// for programs.
  func keepTimes(besides others: Set<TreePath>) throws {
    let left = hints.times.filter { !timed.contains($0.key) && !others.contains($0.key) }
    for (path, times) in left.sorted(by: { $0.key < $1.key }) {
      let inode = path.isRoot ? try rows.inode(.root)?.inode : try entry(at: path)?.inode
      guard let inode else { continue }
      var record = inode.record
      record.show(times)
      if record != inode.record { try rows.update(record, of: inode.number, from: inode.record) }
    }
  }

  /// Lets a file that is about to be written show the times that it had, where no other head comes along: the last
  /// step then leaves it alone.
  func showTimes(of record: inout InodeRecord, at path: TreePath) {
    guard hints.isOwn, hints.own == nil, let times = hints.times[path] else { return }
    record.show(times)
    timed.insert(path)
  }

  /// Sets the clock's time on directories in which others made or removed names.
  ///
  /// Programs see the time of a directory that they changed themselves already: the rows only follow, with its names
  /// or with another number at one of them.
  func setDirectoryTimes(_ others: Set<TreePath>?) throws {
    for number in changedDirectories.sorted() {
      guard let row = try rows.inode(number) else { continue }
      if let others {
        var path = TreePath.root
        if let place = row.place { path = try self.path(of: place) }
        guard others.contains(path) else { continue }
      }
      var record = row.inode.record
      record.changed = now
      // One that the head records was set when the names were these.
      record.shownTime = record.attributes.mtime == nil ? now : nil
      try rows.update(record, of: number, from: row.inode.record)
    }
  }

  /// The paths at which others changed something, and the directories in which they changed names; nil if nobody knows
  /// what is of others.
  func pathsOfOthers() throws -> Set<TreePath>? {
    guard let own = hints.own else { return hints.isOwn ? [] : nil }
    guard own.map.root != after.map.root else { return [] }
    var paths: Set<TreePath> = []
    var diff = try PathDiff(from: own, to: after)
    while let step = try diff.next() {
      switch step {
      case .gone(let change), .come(let change), .changed(let change):
        if try isOfCut(change.path) { continue }
      }
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

  /// True if the head has at a path what the cut took there, or above it, into a version next to the head. A directory
  /// in which names were taken lost its recorded time by that.
  private func isOfCut(_ path: TreePath) throws -> Bool {
    guard !hints.beside.isEmpty else { return false }
    var tree = hints.above[path]
    var above = path
    while tree == nil {
      tree = hints.beside[above]
      if above.isRoot { break }
      above = above.parent
    }
    guard let tree else { return false }
    switch (try tree.find(path: path.bytes), try after.find(path: path.bytes)) {
    case (nil, nil): return true
    case (.value(let own)?, .value(let entry)?):
      return InodeRecord(own, changed: now).hasSameContent(as: InodeRecord(entry, changed: now))
    case (.directory(let own)?, .directory(let entry)?):
      return InodeRecord(own, changed: now).hasSameContent(as: InodeRecord(entry, changed: now))
    default: return false
    }
  }
}

extension InodeRecord {
  fileprivate mutating func show(_ times: NumberHints.Times) {
    changed = times.changed
    shownTime = times.modified == attributes.mtime ? nil : times.modified
  }
}

extension PathChange {
  /// True if the trees show values of other bytes.
  fileprivate var hasOtherFile: Bool {
    guard case .value(let old)? = before, case .value(let new)? = after else { return false }
    return FileIdentity(old) != FileIdentity(new)
  }
}
