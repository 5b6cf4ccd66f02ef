package import LLVSCore

/// The names of folders at a remote and in a store that several modules use.
package enum ExchangeFolders {
  /// The folder of bundles at a remote.
  package static let bundles = BundleFormat.folder
  /// The folder of descriptions of versions at a remote, in the original's format.
  package static let versions = WireKind.version.rawValue
}

extension Store {
  /// The directory of this store's credentials and keys, which only its owner may read.
  package var secretsDirectory: String { "\(path)/secrets" }
}
