/// The permissions of owner, group and others.
///
/// A node that stands for several files gets the permissions of all, narrowed by each other: an
/// action is denied if one of the files denies it. If that depends on the groups of the user, it is
/// denied.
package struct Permissions: Hashable, Sendable {
  /// The owner.
  package var uid: UInt32
  /// The group.
  package var gid: UInt32
  /// The nine permission bits.
  package var mode: UInt32

  /// Creates permissions; other bits of the mode are dropped.
  package init(uid: UInt32, gid: UInt32, mode: UInt32) {
    self.uid = uid
    self.gid = gid
    self.mode = mode & 0o777
  }

  private var owner: UInt32 { mode >> 6 & 7 }
  private var group: UInt32 { mode >> 3 & 7 }
  private var others: UInt32 { mode & 7 }

  /// Removes the permissions that another file denies, which may have another owner and another
  /// group.
  ///
  /// The user `uid` may be in the other file's group, or not. So each class keeps only what the
  /// other file permits to all classes that a user of this class may be in there.
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

  /// Removes all permissions of the classes that may not search a directory above.
  package func narrowed(bySearchOf directory: Permissions) -> Permissions {
    var passage = directory
    // All three bits of each class whose search bit is set.
    passage.mode = (directory.mode & 0o111) * 7
    return narrowed(by: passage)
  }
}
