// What a program may say of a version: what every peer takes.

extension Version {
  /// Why a program cannot give a version this metadata; nil if it can.
  ///
  /// How attributes changed is worked out from what the version holds, so that nobody else can say it.
  static func fault(ofGiven metadata: Metadata) -> String? {
    if let key = metadata.keys.filter(AttributeList.isFrame).min() {
      return "the metadata \(key.rawValue) is the store's own"
    }
    return fault(of: metadata)
  }

  /// Why peers refuse a version with this metadata for its size; nil if they take it.
  static func fault(of metadata: Metadata) -> String? {
    if metadata.count > ExchangeLimits.metadataCount {
      return "more than \(ExchangeLimits.metadataCount) pieces of metadata"
    }
    var length = 0
    for (key, value) in metadata {
      if key.rawValue.utf8.count > ExchangeLimits.metadataKeyLength {
        return "a metadata key of more than \(ExchangeLimits.metadataKeyLength) bytes"
      }
      length += value.data.count
    }
    return length > ExchangeLimits.metadataLength
      ? "metadata of more than \(ExchangeLimits.metadataLength) bytes" : nil
  }
}
