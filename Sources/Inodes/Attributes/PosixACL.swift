package import LLVSCore
import Platform

/// A POSIX access control list: the value of `system.posix_acl_access` or `system.posix_acl_default`
/// (linux/posix_acl_xattr.h for the format, acl(5) for the meaning).
/// Every value of this type is a list that the kernel accepts: valid, and no longer than a page.
package struct PosixACL: Hashable {
  private enum Tag: UInt16 {
    case owner = 1
    case user = 2
    case owningGroup = 4
    case group = 8
    case mask = 16
    case other = 32
  }

  private struct Entry: Hashable {
    let tag: Tag
    /// Read (4), write (2) and execute (1).
    var permissions: UInt16
    let id: UInt32
  }

  private static let version: UInt32 = 2
  private static let headerSize = 4
  private static let entrySize = 8
  private var entries: [Entry] = []

  /// Nil for bytes that are no valid list by acl(5).
  package init?(_ bytes: [UInt8]) {
    guard bytes.count > Self.headerSize, bytes.count <= Attributes.longestACL,
      (bytes.count - Self.headerSize) % Self.entrySize == 0,
      Self.integer(bytes, 0, 4) == Self.version
    else { return nil }
    for start in stride(from: Self.headerSize, to: bytes.count, by: Self.entrySize) {
      let permissions = UInt16(Self.integer(bytes, start + 2, 2))
      guard let tag = Tag(rawValue: UInt16(Self.integer(bytes, start, 2))), permissions <= 7 else {
        return nil
      }
      entries.append(
        Entry(tag: tag, permissions: permissions, id: Self.integer(bytes, start + 4, 4)))
    }
    guard isValid else { return nil }
  }

  /// True for a list without entries, which removes the list.
  package static func isNone(_ bytes: [UInt8]) -> Bool {
    bytes.count == headerSize && integer(bytes, 0, headerSize) == version
  }

  private static func integer(_ bytes: [UInt8], _ start: Int, _ count: Int) -> UInt32 {
    (0..<count).reduce(0) { $0 | UInt32(bytes[start + $1]) << UInt32(8 * $1) }
  }

  /// True if the entries are in order: the owner, named users, the owning group, named groups, the mask, which
  /// named entries need, and the others.
  private var isValid: Bool {
    var last: UInt16 = 0
    for entry in entries {
      let mayRepeat = entry.tag == .user || entry.tag == .group
      guard entry.tag.rawValue > last || entry.tag.rawValue == last && mayRepeat else {
        return false
      }
      guard !mayRepeat || entry.id != .max else { return false }
      last = entry.tag.rawValue
    }
    let tags = Set(entries.map(\.tag))
    return tags.isSuperset(of: [.owner, .owningGroup, .other])
      && (tags.contains(.mask) || tags.isDisjoint(with: [.user, .group]))
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    func append(_ value: UInt32, _ count: Int) {
      for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }
    append(Self.version, 4)
    for entry in entries {
      append(UInt32(entry.tag.rawValue), 2)
      append(UInt32(entry.permissions), 2)
      append(entry.id, 4)
    }
    return bytes
  }

  /// True if a mode can express the list.
  package var isMode: Bool { entries.count == 3 }

  /// The permission bits; those of the group are the mask's, if there is one.
  package var mode: UInt32 {
    UInt32(self[.owner]) << 6 | UInt32(self[groupClass]) << 3 | UInt32(self[.other])
  }

  private var groupClass: Tag { entries.contains { $0.tag == .mask } ? .mask : .owningGroup }

  private subscript(tag: Tag) -> UInt16 {
    get { entries.first { $0.tag == tag }?.permissions ?? 0 }
    set {
      guard let index = entries.firstIndex(where: { $0.tag == tag }) else { return }
      entries[index].permissions = newValue
    }
  }

  /// Returns the list after chmod(2).
  package func changed(to mode: UInt32) -> PosixACL {
    var result = self
    result[.owner] = UInt16(mode >> 6 & 7)
    result[groupClass] = UInt16(mode >> 3 & 7)
    result[.other] = UInt16(mode & 7)
    return result
  }

  /// Returns the list and the mode of a file that is created in a directory with this default list.
  package func inherited(with mode: UInt32) -> (acl: PosixACL, mode: UInt32) {
    let common = self.mode & mode & 0o777
    return (changed(to: common), mode & ~0o777 | common)
  }
}

extension Attributes {
  /// Returns the list of a name that the kernel accepts.
  package func acl(_ name: [UInt8]) -> PosixACL? {
    extended.first { $0.name == name }.flatMap { PosixACL($0.value) }
  }

  package mutating func set(_ acl: PosixACL?, _ name: [UInt8]) { setExtended(acl?.bytes, name) }

  /// Sets or removes an extended attribute in the order of names.
  package mutating func setExtended(_ value: [UInt8]?, _ name: [UInt8]) {
    let index =
      extended.firstIndex { !$0.name.lexicographicallyPrecedes(name) } ?? extended.count
    let isThere = index < extended.count && extended[index].name == name
    let item = value.map { Attributes.Extended(name: name, value: $0) }
    extended.replaceSubrange(
      index..<(isThere ? index + 1 : index), with: item.map { [$0] } ?? [])
  }

  /// Returns a list for getxattr(2). It agrees with `mode`, which a merge may take from the other side.
  package func shownACL(_ name: [UInt8], of kind: EntryKind, mode: UInt32) -> [UInt8]? {
    guard kind != .symlink, let acl = acl(name) else { return nil }
    switch name {
    case ExtendedName.accessACL: return acl.changed(to: mode).bytes
    default: return kind == .directory ? acl.bytes : nil
    }
  }
}
