/// The names of extended attributes that are kept besides `user.*`.
package enum ExtendedName {
  /// The access control list of a file (acl(5)).
  package static let accessACL = Array("system.posix_acl_access".utf8)
  /// The access control list that new files in a directory inherit.
  package static let defaultACL = Array("system.posix_acl_default".utf8)

  /// Returns true if attributes of this name are kept: `user.` and at least one more byte, or one of
  /// the two names above.
  package static func isKept(_ name: some Collection<UInt8>) -> Bool {
    name.starts(with: "user.".utf8) ? name.count > 5 : isACL(name)
  }

  /// Returns true for the name of an access control list.
  package static func isACL(_ name: some Collection<UInt8>) -> Bool {
    // The kernel asks at each write, nearly always for another name: the lengths tell them apart.
    name.count == accessACL.count && name.elementsEqual(accessACL)
      || name.count == defaultACL.count && name.elementsEqual(defaultACL)
  }
}
