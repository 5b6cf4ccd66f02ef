/// The one name that programs cannot give to a file: `.llvs`, which exists in every directory.
package enum ReservedName {
  /// The name's bytes.
  package static let bytes = Array(".llvs".utf8)
}
