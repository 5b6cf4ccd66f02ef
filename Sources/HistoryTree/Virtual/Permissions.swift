/// What owner, group and others may do.
///
/// Of things that lie under or stand for several others it is found by narrowing: nobody may do what one
/// of them denies him, and where that depends on who he is, it is denied.
package struct Permissions: Hashable, Sendable {
  package var uid: UInt32
  package var gid: UInt32
  /// The nine bits.
  package var mode: UInt32

  package init(uid: UInt32, gid: UInt32, mode: UInt32) {
    self.uid = uid
    self.gid = gid
    self.mode = mode & 0o777
  }

  private var owner: UInt32 { mode >> 6 & 7 }
  private var group: UInt32 { mode >> 3 & 7 }
  private var others: UInt32 { mode & 7 }

  /// Takes away what something else denies, which may be another user's and another group's.
  ///
  /// Who is `uid` here may be of the other's group there, or of none; each class keeps what all classes
  /// that its users may fall in have there.
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

  /// Takes everything from those who may not pass through a directory above.
  package func narrowed(bySearchOf directory: Permissions) -> Permissions {
    var passage = directory
    // Of each class, everything where x is set.
    passage.mode = (directory.mode & 0o111) * 7
    return narrowed(by: passage)
  }
}
