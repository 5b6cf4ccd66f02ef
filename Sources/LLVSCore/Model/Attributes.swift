import Platform

/// The recorded attributes of a value or directory; a field that is nil was never recorded.
package struct Attributes: Hashable, Sendable {
  package struct Time: Hashable, Comparable, Sendable {
    /// Seconds since 1970, UTC.
    package var seconds: Int64
    package var nanoseconds: UInt32

    package init(seconds: Int64, nanoseconds: UInt32) {
      self.seconds = seconds
      self.nanoseconds = nanoseconds
    }

    package static func < (a: Time, b: Time) -> Bool {
      (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }
  }

  package struct Device: Hashable, Sendable {
    package var major: UInt32
    package var minor: UInt32

    package init(major: UInt32, minor: UInt32) {
      self.major = major
      self.minor = minor
    }
  }

  /// An extended attribute: one in the `user.` name space, or a POSIX access control list
  /// (`system.posix_acl_access`, `system.posix_acl_default`) as getxattr(2) gives it.
  package struct Extended: Hashable, Sendable {
    /// The name, prefix included; at most 255 bytes.
    package var name: [UInt8]
    /// The value; at most 65,536 bytes.
    package var value: [UInt8]

    package init(name: [UInt8], value: [UInt8]) {
      self.name = name
      self.value = value
    }
  }

  /// Permission bits, 0 to 0o7777.
  package var mode: UInt32?
  /// The time of the last change of the bytes.
  package var mtime: Time?
  /// The owner, where it differs from the mounting user.
  package var uid: UInt32?
  /// The group, where it differs from the mounting user's.
  package var gid: UInt32?
  package var device: Device?
  /// The link id, 16 bytes: names with one link id are hard links of one file.
  package var linkID: [UInt8]?
  /// Extended attributes in ascending order of name, each name once.
  package var extended: [Extended]

  package init(
    mode: UInt32? = nil, mtime: Time? = nil, uid: UInt32? = nil, gid: UInt32? = nil,
    device: Device? = nil, linkID: [UInt8]? = nil, extended: [Extended] = []
  ) {
    self.mode = mode
    self.mtime = mtime
    self.uid = uid
    self.gid = gid
    self.device = device
    self.linkID = linkID
    self.extended = extended
  }

  /// The longest access control list that the kernel accepts, in bytes: a page.
  package static let longestACL = 4096

  /// Returns true for an access control list with a length that the kernel accepts: shortened entries keep these,
  /// because the kernel reads them for every file.
  static func staysInShortened(_ name: some Collection<UInt8>, valueLength: Int) -> Bool {
    valueLength <= longestACL && ExtendedName.isACL(name)
  }

  /// The extended attributes that a shortened entry keeps: the first ones by name.
  package var extendedInShortened: [Extended] {
    Array(extended.prefix { Self.staysInShortened($0.name, valueLength: $0.value.count) })
  }

  /// True if names and values of the other extended attributes exceed ``Entry/longAttributes`` bytes.
  package var hasLongExtended: Bool {
    guard !extended.isEmpty else { return false }
    return extended.drop { Self.staysInShortened($0.name, valueLength: $0.value.count) }
      .reduce(0) { $0 + $1.name.count + $1.value.count } > Entry.longAttributes
  }
}
