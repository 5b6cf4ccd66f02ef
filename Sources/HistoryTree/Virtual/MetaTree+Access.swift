import Inodes
import LLVSCore
import Synchronization
import TreeNames
import WorkingTree

// Access to history. Only the mounting user may read files with facts about the whole tree; files of a version have
// the version's modes. Two kinds of paths avoid directories that would have denied access:
//
// - `.llvs/history/PATH` leads to a path in any version, past the directories above it there.
// - `.llvs` of a subdirectory begins below the directories above it, which may have been closed in that version.

extension MetaTree {
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
