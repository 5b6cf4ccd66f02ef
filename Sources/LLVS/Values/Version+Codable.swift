// A version as JSON, in the files of stores and of the folders that they exchange: {"identifier", "timestamp",
// "valueDataSize"?, "metadata": [key, value, key, value...], "predecessors"?}.

extension Version: Codable {
  private enum CodingKeys: String, CodingKey {
    case identifier, predecessors, timestamp, valueDataSize, metadata
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    var metadata: Metadata = [:]
    if container.contains(.metadata) {
      var list = try container.nestedUnkeyedContainer(forKey: .metadata)
      while !list.isAtEnd {
        let key = try list.decode(MetadataKey.self)
        metadata[key] = try list.decode(MetadataValue.self)
      }
    }
    self.init(
      id: try container.decode(ID.self, forKey: .identifier),
      predecessors: try container.decodeIfPresent(Predecessors.self, forKey: .predecessors),
      timestamp: try container.decode(Double.self, forKey: .timestamp),
      valueDataSize: try container.decodeIfPresent(Int64.self, forKey: .valueDataSize),
      metadata: metadata)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .identifier)
    try container.encodeIfPresent(predecessors, forKey: .predecessors)
    try container.encode(timestamp, forKey: .timestamp)
    try container.encodeIfPresent(valueDataSize, forKey: .valueDataSize)
    var list = container.nestedUnkeyedContainer(forKey: .metadata)
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      try list.encode(key)
      try list.encode(value)
    }
  }
}
