extension Version {
  /// Returns the reason why a program cannot give a version this metadata; nil if it can. Changed attributes, for
  /// example, are computed from the version's entries.
  static func fault(ofGiven metadata: Metadata) -> String? {
    if let key = metadata.keys.filter(AttributeList.isFrame).min() {
      return "the metadata \(key.rawValue) is the store's own"
    }
    return fault(of: metadata)
  }

  /// Returns the reason why peers refuse a version with this metadata; nil if they accept it.
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
