import Grammar
import Inodes
import LLVSCore
import Synchronization
import TreeNames
import WorkingTree

// `info` and `changes`, the files in a version's `.llvs`.

extension MetaTree {
  func info(_ number: VersionNumber, _ path: [UInt8]) throws(FSError) -> [UInt8] {
    let snapshot = try snapshots.snapshot(number)
    let record = snapshot.record
    let metadata = try FSError.translating(try store.metadata(of: record))
    let time = TimestampText.utc(seconds: Attributes.Time(ofVersion: record.timestamp).seconds)
    var lines: [(String, String)] = [
      ("version", record.name), ("id", record.id.rawValue), ("time", time), ("line", record.line),
    ]
    let author = Author(metadata)
    if let name = author.name { lines.append(("author", name)) }
    if let machine = author.machine { lines.append(("machine", machine)) }
    if let message: String = metadata[.message]?.value() { lines.append(("message", message)) }
    for predecessor in record.predecessors {
      lines.append(("predecessor", try snapshots.snapshot(predecessor).record.name))
    }
    if record.flags.contains(.automatic) { lines.append(("merge", "automatic")) }
    let counts = try counts(number, path)
    lines.append(("values", String(counts.values)))
    lines.append(("bytes", String(counts.bytes)))
    lines.append(
      ("changes", "\(counts.changed) changed, \(counts.new) new, \(counts.removed) removed"))
    var text: [UInt8] = []
    for (name, value) in lines {
      let label = name + String(repeating: " ", count: max(1, 12 - name.utf8.count))
      text += Array(label.utf8) + PrintableText.visible(Array(value.utf8), sparing: 0x5C) + [0x0A]
    }
    return text
  }

  private struct Counts {
    var values = 0
    var bytes: UInt64 = 0
    var changed = 0
    var new = 0
    var removed = 0
  }

  private func counts(_ number: VersionNumber, _ path: [UInt8]) throws(FSError) -> Counts {
    var counts = Counts()
    var changes = try changes(of: number, path)
    let view = try snapshots.snapshot(number).view
    try FSError.wrapping { () throws(StoreError) in
      var walk = view.entries(below: path)
      while let (_, entry) = try walk.next() {
        guard !entry.isDirectory else { continue }
        counts.values += 1
        counts.bytes += entry.stored.length
      }
      while let change = try changes.next() {
        switch change.mark {
        case ChangeText.added: counts.new += 1
        case ChangeText.removed: counts.removed += 1
        default: counts.changed += 1
        }
      }
    }
    return counts
  }

  /// Returns the changes of a version and its first predecessor below a path.
  func changes(of number: VersionNumber, _ path: [UInt8]) throws(FSError) -> SnapshotChanges {
    let snapshot = try snapshots.snapshot(number)
    var before: Snapshot?
    if let first = snapshot.record.first { before = try snapshots.snapshot(first) }
    let empty = TreeView(map: store.map(.empty))
    return try FSError.translating(
      try SnapshotChanges(from: before?.view ?? empty, to: snapshot.view, below: path))
  }

  // Access to history. Only the mounting user may read files with facts about the whole tree; files of a version have
  // the version's modes. Two kinds of paths avoid directories that would have denied access:
  //
  // - `.llvs/history/PATH` leads to a path in any version, past the directories above it there.
  // - `.llvs` of a subdirectory begins below the directories above it, which may have been closed in that version.

  /// For values with more revisions, only the mounting user has access.
  private static let revisionLimit = 4096

  /// Returns the permissions of a directory of history: no more than in the working tree, and than those of the
  /// directories above each revision.
  /// - Complexity: O(revisions times depth); cached until there are new versions.
  func historyPermissions(_ path: [UInt8]) throws(FSError) -> Permissions {
    var permissions = Permissions(uid: live.defaults.uid, gid: live.defaults.gid, mode: 0o555)
    guard !path.isEmpty else { return permissions }
    if let now = try live.status(at: path), now.kind == .directory {
      (permissions.uid, permissions.gid) = (now.uid, now.gid)
      permissions = permissions.narrowed(
        by: Permissions(uid: now.uid, gid: now.gid, mode: now.mode))
    }
    let known = try recorded(path)
    guard !known.isOwnerOnly else {
      return Permissions(uid: live.defaults.uid, gid: live.defaults.gid, mode: 0o500)
    }
    for above in known.above { permissions = permissions.narrowed(bySearchOf: above) }
    // The mounting user can read the store itself.
    if permissions.uid == live.defaults.uid { permissions.mode |= 0o500 }
    return permissions
  }

  private func recorded(_ path: [UInt8]) throws(FSError) -> KnownAccess {
    let last = store.lastNumber
    if let known = historyAccess.withLock({ $0.use(path) }), known.last == last { return known }
    var known = KnownAccess(last: last)
    let versions = try revisionVersions(of: path)
    known.isOwnerOnly = versions.count > Self.revisionLimit
    if !known.isOwnerOnly {
      for version in versions {
        snapshots.remember(version)
        try known.above.formUnion(permissions(above: path, in: version.number))
      }
    }
    historyAccess.withLock { $0.add(known, for: path) }
    return known
  }

  /// Narrows the status of the top of a version in a subdirectory by the directories above it.
  func narrowed(
    _ status: InodeStatus, _ number: VersionNumber, _ path: [UInt8]
  ) throws(FSError) -> InodeStatus {
    var permissions = Permissions(uid: status.uid, gid: status.gid, mode: status.mode)
    for above in try self.permissions(above: path, in: number) {
      permissions = permissions.narrowed(bySearchOf: above)
    }
    var narrow = status
    narrow.mode = status.mode & ~0o777 | permissions.mode
    return narrow
  }

  /// Returns the permissions of those directories above a path that not all users may search.
  private func permissions(
    above path: [UInt8], in number: VersionNumber
  ) throws(FSError) -> Set<Permissions> {
    var all: Set<Permissions> = []
    for end in path.indices where path[end] == 0x2F {
      guard let entry = try directoryEntry(number, Array(path[..<end])) else { continue }
      let owner = live.defaults.owner(entry.attributes)
      let mode = entry.attributes.mode ?? 0o755
      if mode & 0o111 != 0o111 {
        all.insert(Permissions(uid: owner.uid, gid: owner.gid, mode: mode))
      }
    }
    return all
  }
}

/// The permissions of the directories above a value, in all versions up to `last`.
struct KnownAccess: Sendable {
  var last: UInt32
  var above: Set<Permissions> = []
  /// True if there are too many versions; then only the mounting user has access.
  var isOwnerOnly = false

  init(last: UInt32) { self.last = last }
}
