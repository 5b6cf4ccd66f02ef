package import LLVSCore

/// The folders at a remote that several modules name.
package enum ExchangeFolders {
  package static let bundles = BundleFormat.folder
  package static let versions = WireKind.version.rawValue
}

extension Store {
  /// The directory of this store's credentials and keys, which only its owner may read.
  package var secretsDirectory: String { "\(path)/secrets" }
}
