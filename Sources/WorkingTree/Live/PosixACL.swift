package import LLVSCore
import Platform

/// An access control list as Linux hands it to file systems: the value of `system.posix_acl_access` or
/// `system.posix_acl_default` (linux/posix_acl_xattr.h; acl(5) tells what it means).
///
/// Only a list that the kernel takes can be made.
struct PosixACL: Hashable {
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
    /// Of read (4), write (2) and execute (1).
    var permissions: UInt16
    let id: UInt32
  }

  private static let version: UInt32 = 2
  private static let headerSize = 4
  private static let entrySize = 8

  private var entries: [Entry] = []

  /// Reads a list; nil for bytes that are none, or one that lacks what acl(5) demands or has it out of order.
  init?(_ bytes: [UInt8]) {
    guard bytes.count > Self.headerSize, (bytes.count - Self.headerSize) % Self.entrySize == 0,
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

  private static func integer(_ bytes: [UInt8], _ start: Int, _ count: Int) -> UInt32 {
    (0..<count).reduce(0) { $0 | UInt32(bytes[start + $1]) << UInt32(8 * $1) }
  }

  /// The owner first, then named users, the owning group, named groups, the mask, which is there where anybody is
  /// named, and all others last.
  private var isValid: Bool {
    var last: UInt16 = 0
    for entry in entries {
      let mayRepeat = entry.tag == .user || entry.tag == .group
      guard entry.tag.rawValue > last || entry.tag.rawValue == last && mayRepeat else {
        return false
      }
      // An id that is no one's.
      guard !mayRepeat || entry.id != .max else { return false }
      last = entry.tag.rawValue
    }
    let tags = Set(entries.map(\.tag))
    return tags.isSuperset(of: [.owner, .owningGroup, .other])
      && (tags.contains(.mask) || tags.isDisjoint(with: [.user, .group]))
  }

  /// The list as it is stored and handed to programs.
  var bytes: [UInt8] {
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

  /// Whether a mode says all that it says.
  var isMode: Bool { entries.count == 3 }

  /// The nine bits that chmod(2) knows: the group's are the mask's where there is one.
  var mode: UInt32 {
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

  /// The list after chmod(2) to a mode.
  func changed(to mode: UInt32) -> PosixACL {
    var result = self
    result[.owner] = UInt16(mode >> 6 & 7)
    result[groupClass] = UInt16(mode >> 3 & 7)
    result[.other] = UInt16(mode & 7)
    return result
  }

  /// What is made with a mode in a directory whose default list this is gets: nobody more than both allow.
  func inherited(with mode: UInt32) -> (acl: PosixACL, mode: UInt32) {
    let common = self.mode & mode & 0o777
    return (changed(to: common), mode & ~0o777 | common)
  }
}

extension Attributes {
  /// The list under a name; nil where there is none that the kernel would take.
  func acl(_ name: [UInt8]) -> PosixACL? {
    extended.first { $0.name == name }.flatMap { PosixACL($0.value) }
  }

  /// Gives the list under a name, or takes it away.
  mutating func set(_ acl: PosixACL?, _ name: [UInt8]) { setExtended(acl?.bytes, name) }

  /// Gives an extended attribute a value, or takes it away; they stay in the order of their names.
  mutating func setExtended(_ value: [UInt8]?, _ name: [UInt8]) {
    let index =
      extended.firstIndex { !$0.name.lexicographicallyPrecedes(name) } ?? extended.count
    let isThere = index < extended.count && extended[index].name == name
    let item = value.map { Attributes.Extended(name: name, value: $0) }
    extended.replaceSubrange(
      index..<(isThere ? index + 1 : index), with: item.map { [$0] } ?? [])
  }

  /// The value that getxattr(2) shows of an access control list; nil where there is none.
  ///
  /// The mode goes before the list, since either may have come by a merge without the other.
  package func shownACL(_ name: [UInt8], of kind: EntryKind, mode: UInt32) -> [UInt8]? {
    guard kind != .symlink, let acl = acl(name) else { return nil }
    switch name {
    case ExtendedName.accessACL: return acl.changed(to: mode).bytes
    default: return kind == .directory ? acl.bytes : nil
    }
  }
}
