/// The one name that no program may give a file: `.llvs`, which resolves in every directory.
package enum ReservedName {
  /// The name's bytes.
  package static let bytes = Array(".llvs".utf8)
}
