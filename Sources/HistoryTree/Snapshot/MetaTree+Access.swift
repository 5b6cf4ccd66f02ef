import LLVSCore
import Synchronization
import TreeNames
import WorkingTree

// Who may look where. What tells of the whole tree at once (status, log, conflicts, peers, the texts of
// versions) is for who mounted alone. Files and directories of a version are for whom their own modes let
// in, as in the live tree, but two kinds of paths pass by directories that would have kept somebody out:
//
// - `.llvs/history/PATH` leads to what stood at a path in any version, past the directories above it there.
// - `.llvs` of a subdirectory begins below the directories above it, which may have been closed then.

extension MetaTree {
  /// For how many revisions it is found out; who mounted alone looks into the history of a value with more.
  private static let revisionLimit = 4096

  /// What a directory of history lets others do: one that stands in the live tree what it does there, and
  /// one that holds revisions no more than the directories above each of them did.
  ///
  /// - Complexity: O(revisions times depth), remembered until there are new versions.
  func historyPermissions(_ path: [UInt8]) throws(FSError) -> Permissions {
    var permissions = Permissions(uid: live.defaults.uid, gid: live.defaults.gid, mode: 0o555)
    guard !path.isEmpty else { return permissions }
    if let now = try live.status(at: path), now.kind == .directory {
      (permissions.uid, permissions.gid) = (now.uid, now.gid)
      permissions = permissions.narrowed(
        by: Permissions(uid: now.uid, gid: now.gid, mode: now.mode))
    }
    let known = try recorded(path)
    guard !known.isOwners else {
      return Permissions(uid: live.defaults.uid, gid: live.defaults.gid, mode: 0o500)
    }
    for above in known.above { permissions = permissions.narrowed(bySearchOf: above) }
    // Who mounted reads the store as well: nothing is closed to him.
    if permissions.uid == live.defaults.uid { permissions.mode |= 0o500 }
    return permissions
  }

  private func recorded(_ path: [UInt8]) throws(FSError) -> KnownAccess {
    let last = store.lastNumber
    if let known = historyAccess.withLock({ $0.use(path) }), known.last == last { return known }
    var known = KnownAccess(last: last)
    let versions = try revisionVersions(of: path)
    known.isOwners = versions.count > Self.revisionLimit
    if !known.isOwners {
      for version in versions {
        snapshots.remember(version)
        try known.above.formUnion(permissions(above: path, in: version.number))
      }
    }
    historyAccess.withLock { $0.add(known, for: path) }
    return known
  }

  /// What the top of a version, seen from a subdirectory, lets others do: `status` narrowed by the
  /// directories above it in that version.
  func narrowed(
    _ status: NodeStatus, _ number: VersionNumber, _ path: [UInt8]
  ) throws(FSError) -> NodeStatus {
    var permissions = Permissions(uid: status.uid, gid: status.gid, mode: status.mode)
    for above in try self.permissions(above: path, in: number) {
      permissions = permissions.narrowed(bySearchOf: above)
    }
    var narrow = status
    narrow.mode = status.mode & ~0o777 | permissions.mode
    return narrow
  }

  /// What the directories above a path let others do in a version; those that let in everybody are left out.
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

/// What the versions up to one say of the directories above a value.
struct KnownAccess: Sendable {
  var last: UInt32
  var above: Set<Permissions> = []
  /// Too many to be looked at.
  var isOwners = false

  init(last: UInt32) { self.last = last }
}
