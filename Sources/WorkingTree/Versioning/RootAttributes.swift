import LLVSCore

/// The mode, owner and extended attributes of the tree's top directory.
///
/// No key stands for the top, so no version can hold them: each store keeps its own.
enum RootAttributes {
  private static let setting = "live.root"
  static let defaults = Attributes(mode: 0o755)

  /// What was set last; the time is the one that its names or utimensat(2) gave it.
  static func stored(in store: Store) throws(StoreError) -> Attributes {
    let bytes = try store.state().settings[setting]
    var attributes = bytes.flatMap { $0.withUnsafeBytes { Attributes(decoding: $0) } } ?? defaults
    attributes.mtime = try store.directoryTime(LiveTree.rootInode)
    return attributes
  }

  static func record(_ attributes: Attributes, in transaction: WriteTransaction) {
    var lasting = attributes
    lasting.mtime = nil
    transaction.set(setting, to: lasting.encoded)
  }
}
