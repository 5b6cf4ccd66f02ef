/// The extended attributes that are kept in addition to `user.*`.
package enum ExtendedName {
  /// acl(5).
  package static let accessACL = Array("system.posix_acl_access".utf8)
  /// The list that new files in a directory inherit.
  package static let defaultACL = Array("system.posix_acl_default".utf8)

  /// True for `user.` and at least one more byte, and for the two lists.
  package static func isKept(_ name: some Collection<UInt8>) -> Bool {
    name.starts(with: "user.".utf8) ? name.count > 5 : isACL(name)
  }

  package static func isACL(_ name: some Collection<UInt8>) -> Bool {
    // The kernel asks at each write, usually for another name.
    name.count == accessACL.count && name.elementsEqual(accessACL)
      || name.count == defaultACL.count && name.elementsEqual(defaultACL)
  }
}
