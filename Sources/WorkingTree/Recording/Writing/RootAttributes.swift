import LLVSCore

/// The mode, owner and extended attributes of the root directory. The root has no key, so no version can have them:
/// they are a setting of each store, which the cut's transaction changes.
enum RootAttributes {
  private static let setting = "live.root"

  /// No attributes if none were recorded or the setting is damaged.
  static func stored(in store: Store) throws(StoreError) -> Attributes {
    let bytes = try store.state().settings[setting]
    return bytes.flatMap { $0.withUnsafeBytes { Attributes(decoding: $0) } } ?? Attributes()
  }

  /// Records attributes without the mtime in the transaction of a cut.
  static func record(_ attributes: Attributes, in transaction: WriteTransaction) {
    transaction.set(setting, to: lasting(attributes).encoded)
  }

  /// Returns the attributes without the time of the last change of names.
  static func lasting(_ attributes: Attributes) -> Attributes {
    var lasting = attributes
    lasting.mtime = nil
    return lasting
  }
}
