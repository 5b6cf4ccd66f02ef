package import LLVSCore

/// The attributes that a tree shows if none are recorded.
package struct AttributeDefaults: Sendable {
  /// The user who mounts.
  package var uid: UInt32
  /// The group of that user.
  package var gid: UInt32

  /// Creates defaults for a user.
  package init(uid: UInt32, gid: UInt32) {
    self.uid = uid
    self.gid = gid
  }

  /// Only root can give files away, so only a tree that root mounts keeps owners; an ordinary user's
  /// shows everything as his.
  package var keepsOwners: Bool { uid == 0 }

  /// The owner to show for attributes; the greatest number, which chown(2) takes for "none", is nobody's.
  package func owner(_ attributes: Attributes) -> (uid: UInt32, gid: UInt32) {
    guard keepsOwners else { return (uid, gid) }
    return (attributes.uid.flatMap(Self.id) ?? uid, attributes.gid.flatMap(Self.id) ?? gid)
  }

  /// The mode to show.
  ///
  /// A set-user-ID bit acts in the name of the owner who allowed it. One without a recorded owner is from
  /// an ordinary user's tree, and is not shown by root's as root's; so chown(2) clears it for a new owner.
  package func mode(_ attributes: Attributes, of kind: EntryKind) -> UInt32 {
    switch kind {
    case .directory: return attributes.mode ?? 0o755
    case .symlink: return 0o777
    default: break
    }
    var mode = attributes.mode ?? 0o644
    guard keepsOwners, mode & 0o6000 != 0 else { return mode }
    if attributes.uid.flatMap(Self.id) == nil { mode &= ~0o4000 }
    if attributes.gid.flatMap(Self.id) == nil { mode &= ~0o2000 }
    return mode
  }

  /// Records the owner also where it is who mounts, if bits of the mode act in his name.
  ///
  /// An ordinary user allows that in his own name alone, whoever else was recorded.
  package func nameOwner(in attributes: inout Attributes, of kind: EntryKind) {
    guard kind != .directory, let mode = attributes.mode else { return }
    if mode & 0o4000 != 0, attributes.uid == nil || !keepsOwners { attributes.uid = uid }
    if mode & 0o2000 != 0, attributes.gid == nil || !keepsOwners { attributes.gid = gid }
  }

  private static func id(_ number: UInt32) -> UInt32? { number == .max ? nil : number }
}
