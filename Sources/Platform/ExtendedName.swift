/// The names of extended attributes that are kept besides `user.*`.
package enum ExtendedName {
  /// Who may do what with a file (acl(5)).
  package static let accessACL = Array("system.posix_acl_access".utf8)
  /// What files that are made in a directory get.
  package static let defaultACL = Array("system.posix_acl_default".utf8)

  /// Whether attributes of this name are kept: `user.` and more, or one of the two.
  package static func isKept(_ name: some Collection<UInt8>) -> Bool {
    name.starts(with: "user.".utf8)
      ? name.count > 5 : name.elementsEqual(accessACL) || name.elementsEqual(defaultACL)
  }

  /// Whether this is the name of an access control list.
  package static func isACL(_ name: [UInt8]) -> Bool { name == accessACL || name == defaultACL }
}
