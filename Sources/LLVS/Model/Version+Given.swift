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
    if metadata.count > WireLimits.metadataCount {
      return "more than \(WireLimits.metadataCount) pieces of metadata"
    }
    var length = 0
    for (key, value) in metadata {
      if key.rawValue.utf8.count > WireLimits.metadataKeyLength {
        return "a metadata key of more than \(WireLimits.metadataKeyLength) bytes"
      }
      length += value.data.count
    }
    return length > WireLimits.metadataLength
      ? "metadata of more than \(WireLimits.metadataLength) bytes" : nil
  }
}
