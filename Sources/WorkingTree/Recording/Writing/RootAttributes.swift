import LLVSCore

/// The mode, owner and extended attributes of the root directory.
///
/// No key stands for the root, so no version can hold them: each store keeps its own, as a setting that is changed
/// with the cut which takes them.
enum RootAttributes {
  private static let setting = "live.root"

  /// Returns what was recorded last; no attributes if nothing was, or if the setting is damaged.
  static func stored(in store: Store) throws(StoreError) -> Attributes {
    let bytes = try store.state().settings[setting]
    return bytes.flatMap { $0.withUnsafeBytes { Attributes(decoding: $0) } } ?? Attributes()
  }

  /// Records attributes in the transaction that commits a cut; the mtime is not among them.
  static func record(_ attributes: Attributes, in transaction: WriteTransaction) {
    transaction.set(setting, to: lasting(attributes).encoded)
  }

  /// Returns the attributes that are recorded: those that are not the time of the last change of names.
  static func lasting(_ attributes: Attributes) -> Attributes {
    var lasting = attributes
    lasting.mtime = nil
    return lasting
  }
}
