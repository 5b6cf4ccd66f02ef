/// The permissions of owner, group and others. A node for several files permits what all of them permit;
/// permissions that depend on the user's groups are denied.
package struct Permissions: Hashable, Sendable {
  package var uid: UInt32
  package var gid: UInt32
  package var mode: UInt32

  /// Drops other bits of the mode.
  package init(uid: UInt32, gid: UInt32, mode: UInt32) {
    self.uid = uid
    self.gid = gid
    self.mode = mode & 0o777
  }

  private var owner: UInt32 { mode >> 6 & 7 }
  private var group: UInt32 { mode >> 3 & 7 }
  private var others: UInt32 { mode & 7 }

  /// Removes the permissions that a file, perhaps of another owner and group, denies. `uid` may be in the other
  /// file's group, so each class keeps what all its possible classes there have.
  package func narrowed(by other: Permissions) -> Permissions {
    let isOwner = uid == other.uid
    let isGroup = gid == other.gid
    let asOwner = isOwner ? other.owner : other.group & other.others
    let asGroup = (isOwner ? 7 : other.owner) & other.group & (isGroup ? 7 : other.others)
    let asOthers = (isOwner ? 7 : other.owner) & (isGroup ? 7 : other.group) & other.others
    var narrow = self
    narrow.mode = (owner & asOwner) << 6 | (group & asGroup) << 3 | others & asOthers
    return narrow
  }

  /// Removes the permissions of the classes that may not search a directory above.
  package func narrowed(bySearchOf directory: Permissions) -> Permissions {
    var passage = directory
    // All bits of each class whose search bit is set.
    passage.mode = (directory.mode & 0o111) * 7
    return narrowed(by: passage)
  }
}
