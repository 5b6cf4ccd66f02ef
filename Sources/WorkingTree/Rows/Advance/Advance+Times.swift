import Inodes
import LLVSCore
import TreeNames

// The times that programs saw before their changes became a version.

extension Advance {
  /// Keeps the shown times of files that the cut took, because its version changes nothing for programs; except at
  /// the paths that others changed.
  func keepTimes(besides others: Set<TreePath>) throws {
    let left = hints.times.filter { !timed.contains($0.key) && !others.contains($0.key) }
    for (path, times) in left.sorted(by: { $0.key < $1.key }) {
      guard let inode = try entry(at: path)?.inode else { continue }
      var record = inode.record
      record.show(times)
      if record != inode.record { try rows.update(record, of: inode.number, from: inode.record) }
    }
  }

  /// Keeps the times of a file's old record, if programs cannot tell the new one from it.
  func keepTimes(of old: InodeRecord, in record: inout InodeRecord, at path: TreePath) throws {
    // Records lack long extended attributes, which others may have changed.
    guard try !record.lacksExtended || isOfCut(path) else { return }
    record.keepTimes(of: old)
  }

  /// Sets a file's times to those shown, if no other head comes along, before it is written: then no later step
  /// does.
  func showTimes(of record: inout InodeRecord, at path: TreePath) {
    guard hints.isOwn, hints.own == nil, let times = hints.times[path] else { return }
    record.show(times)
    timed.insert(path)
  }

  /// Sets the times of a directory's new record: the old ones, unless others changed its attributes.
  func setTimes(
    of record: inout InodeRecord, at path: TreePath, _ number: InodeNumber, old: InodeRecord
  ) throws {
    let isOfOthers = try !isSeen(record, of: number, old: old) && !isOfCut(path)
    var times = NumberHints.Times(
      modified: old.shownTime ?? old.attributes.mtime ?? old.changed,
      changed: isOfOthers ? now : old.changed)
    if let set = record.attributes.mtime, set != old.attributes.mtime { times.modified = set }
    record.show(times)
  }

  /// True if programs saw the attributes of a directory's record; names, not records, decide about its mtime.
  private func isSeen(
    _ record: InodeRecord, of number: InodeNumber, old: InodeRecord
  ) -> Bool {
    guard !record.lacksExtended else { return false }
    var seen = hints.frozen?.nodes.attributes(of: number) ?? old.attributes
    var new = record.attributes
    if new.mtime == nil || new.mtime == old.attributes.mtime {
      (new.mtime, seen.mtime) = (nil, nil)
    }
    return new == seen
  }

  /// Sets the clock's time on directories in which others changed names: these have other numbers than programs saw.
  /// A number alone says little, because a version has the file before at the name of an unsaved one.
  func setDirectoryTimes() throws {
    var directories: Set<InodeNumber> = []
    for (place, old) in changedNames where !directories.contains(place.directory) {
      if hints.own != nil {
        let number = try rows.child(of: place.directory, named: place.name)?.inode.number
        switch hints.frozen?.shown(at: place) ?? .recorded {
        case .recorded: if number == old { continue }
        case .pending(let shown): if number == shown { continue }
        }
        if let above = try rows.inode(place.directory)?.place,
          try isOfCut(try path(of: above).appending(place.name))
        {
          continue
        }
      }
      directories.insert(place.directory)
    }
    for number in directories.sorted() {
      guard let old = try rows.inode(number)?.inode.record else { continue }
      var record = old
      record.changed = now
      // A recorded time was set when the names were these.
      record.shownTime = record.attributes.mtime == nil ? now : nil
      try rows.update(record, of: number, from: old)
    }
  }

  /// Returns the paths at which others changed something, as far as versions tell.
  func pathsOfOthers() throws -> Set<TreePath> {
    guard let own = hints.own, own.map.root != after.map.root else { return [] }
    var paths: Set<TreePath> = []
    var diff = try PathDiff(from: own, to: after)
    while let step = try diff.next() {
      switch step {
      case .gone(let change), .come(let change), .changed(let change):
        if try !isOfCut(change.path) { paths.insert(change.path) }
      }
    }
    return paths
  }

  /// True if the head has at a path what a version of the cut has: the one on the head before, or one next to the
  /// head that took the path or one above it. A directory with taken names lost its recorded time.
  private func isOfCut(_ path: TreePath) throws -> Bool {
    if hints.isOwn { return true }
    if let own = hints.own, try hasSame(own, at: path) { return true }
    guard let tree = hints.above[path] ?? hints.taker(of: path) else { return false }
    return try hasSame(tree, at: path)
  }

  /// True if the head and a tree have the same content at a path, stored by any version.
  private func hasSame(_ tree: TreeView, at path: TreePath) throws -> Bool {
    switch (try tree.find(path: path.bytes), try after.find(path: path.bytes)) {
    case (nil, nil): return true
    case (.value(let own)?, .value(let entry)?):
      return own.attributes == entry.attributes
        && InodeRecord(own, changed: now).hasSameContent(as: InodeRecord(entry, changed: now))
    case (.directory(let own)?, .directory(let entry)?):
      return own?.attributes == entry?.attributes
        && InodeRecord(own, changed: now).hasSameContent(as: InodeRecord(entry, changed: now))
    default: return false
    }
  }
}

extension InodeRecord {
  mutating func show(_ times: NumberHints.Times) {
    changed = times.changed
    shownTime = times.modified == attributes.mtime ? nil : times.modified
  }
}
