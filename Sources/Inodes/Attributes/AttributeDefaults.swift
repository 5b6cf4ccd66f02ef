package import LLVSCore

/// The attributes that a tree shows if none are recorded.
package struct AttributeDefaults: Sendable {
  package var uid: UInt32
  package var gid: UInt32

  package init(uid: UInt32, gid: UInt32) {
    self.uid = uid
    self.gid = gid
  }

  /// Only root can give files away, so only a tree that root mounts keeps owners.
  package var keepsOwners: Bool { uid == 0 }

  /// Returns the owner to show; the greatest number is no id for chown(2).
  package func owner(_ attributes: Attributes) -> (uid: UInt32, gid: UInt32) {
    guard keepsOwners else { return (uid, gid) }
    return (attributes.uid.flatMap(Self.id) ?? uid, attributes.gid.flatMap(Self.id) ?? gid)
  }

  /// Returns the mode to show. A set-user-ID bit without a recorded owner is from an ordinary user's tree, so a
  /// tree of root does not show it.
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

  /// Records the owner if bits of the mode act with his rights; an ordinary user's tree records its user.
  package func nameOwner(in attributes: inout Attributes, of kind: EntryKind) {
    guard kind != .directory, let mode = attributes.mode else { return }
    if mode & 0o4000 != 0, attributes.uid == nil || !keepsOwners { attributes.uid = uid }
    if mode & 0o2000 != 0, attributes.gid == nil || !keepsOwners { attributes.gid = gid }
  }

  private static func id(_ number: UInt32) -> UInt32? { number == .max ? nil : number }
}

extension Attributes {
  /// Returns the attributes of a shortened entry with the long ones among all extended attributes.
  package func completed(with extended: [Extended]) -> Attributes {
    let short = Attributes(extended: extended).extendedInShortened.count
    var whole = self
    whole.extended += extended.dropFirst(short)
    return whole
  }
}
