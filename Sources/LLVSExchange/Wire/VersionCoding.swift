// The file versions/ID: {"version": {"identifier", "timestamp", "predecessors"?, "valueDataSize"?, "metadata"?}}.
// Metadata is a flat array [key, {"data": base64}, key, ...], as the original's coder writes a dictionary.

package import LLVSCore

extension Version {
  /// - Throws: ``StoreError/invalid(_:)`` with file, reason and byte.
  package init(reading input: WireInput) throws(StoreError) {
    try input.skipByteOrderMark()
    var version: Version?
    try input.object(["version"]) { (_) throws(StoreError) in
      version = try Version(readingBody: input)
    }
    try input.finish()
    guard let version else { throw input.malformed("no version") }
    self = version
  }

  private init(readingBody input: WireInput) throws(StoreError) {
    var id: Version.ID?
    var timestamp: Double?
    var predecessors: Predecessors?
    var size: Int64?
    var metadata: Metadata?
    let names = ["identifier", "timestamp", "predecessors", "valueDataSize", "metadata"]
    try input.object(names) { (name) throws(StoreError) in
      switch name {
      case "identifier": id = try input.versionID()
      case "timestamp": timestamp = try input.timestamp()
      default:
        guard try !input.null() else { return }
        switch name {
        case "predecessors": predecessors = try Predecessors(reading: input)
        case "valueDataSize": size = try input.dataSize()
        default: metadata = try input.metadata()
        }
      }
    }
    guard let id else { throw input.malformed("identifier is missing") }
    guard let timestamp else { throw input.malformed("timestamp is missing") }
    guard predecessors?.ids.contains(id) != true else {
      throw input.malformed("the version is its own predecessor")
    }
    self.init(
      id: id, predecessors: predecessors, timestamp: timestamp, valueDataSize: size,
      metadata: metadata ?? [:])
  }

  package func write(to output: WireOutput) throws(StoreError) {
    if let fault = WireName.fault(of: id) { throw .invalid(fault) }
    output.write("{\"version\":{\"identifier\":")
    try output.string(id.rawValue)
    if let predecessors {
      output.write(",\"predecessors\":{\"idOfFirst\":")
      try output.string(predecessors.idOfFirst.rawValue)
      if let second = predecessors.idOfSecond {
        output.write(",\"idOfSecond\":")
        try output.string(second.rawValue)
      }
      output.write("}")
    }
    // The description of a double is the shortest decimal that reads back to the same bits.
    output.write(",\"timestamp\":")
    output.write("\(timestamp)")
    if let valueDataSize { output.write(",\"valueDataSize\":\(valueDataSize)") }
    output.write(",\"metadata\":[")
    var isFirst = true
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      if !isFirst { output.write(",") }
      isFirst = false
      try output.string(key.rawValue)
      output.write(",{\"data\":")
      try output.base64(value.data)
      output.write("}")
    }
    output.write("]}}")
    try output.flush()
  }
}

extension Version.Predecessors {
  fileprivate init(reading input: WireInput) throws(StoreError) {
    var first: Version.ID?
    var second: Version.ID?
    try input.object(["idOfFirst", "idOfSecond"]) { (name) throws(StoreError) in
      if name == "idOfFirst" {
        first = try input.versionID()
      } else if try !input.null() {
        second = try input.versionID()
      }
    }
    guard let first else { throw input.malformed("idOfFirst is missing") }
    guard first != second else { throw input.malformed("both predecessors are one version") }
    self.init(idOfFirst: first, idOfSecond: second)
  }
}

extension WireInput {
  func versionID() throws(StoreError) -> Version.ID {
    let bytes = try string(atMost: WireName.maximumLength)
    let id = Version.ID(String(decoding: bytes, as: UTF8.self))
    if let fault = WireName.fault(of: id) { throw malformed(fault) }
    return id
  }

  fileprivate func timestamp() throws(StoreError) -> Double {
    let text = try number()
    guard let value = Double(text), value.magnitude < ExchangeLimits.timestamp else {
      throw malformed("the timestamp \(text) is out of range")
    }
    return value
  }

  fileprivate func dataSize() throws(StoreError) -> Int64 {
    let text = try number()
    guard let value = Int64(text) ?? Double(text).flatMap(Int64.init(exactly:)), value >= 0 else {
      throw malformed("the size \(text) is not a count of bytes")
    }
    return value
  }

  fileprivate func metadata() throws(StoreError) -> Version.Metadata {
    var metadata: Version.Metadata = [:]
    var space = ExchangeLimits.metadataLength
    var key: Version.MetadataKey?
    try array { () throws(StoreError) in
      guard let current = key else {
        let bytes = try string(atMost: ExchangeLimits.metadataKeyLength)
        key = Version.MetadataKey(String(decoding: bytes, as: UTF8.self))
        return
      }
      var data: [UInt8]?
      try object(["data"]) { (_) throws(StoreError) in
        var bytes: [UInt8] = []
        try base64 { (piece) throws(StoreError) in
          guard piece.count <= space else {
            throw malformed("metadata of more than \(ExchangeLimits.metadataLength) bytes")
          }
          space -= piece.count
          bytes.append(contentsOf: piece)
        }
        data = bytes
      }
      guard let data else { throw malformed("metadata without data") }
      guard metadata.updateValue(Version.MetadataValue(data: data), forKey: current) == nil else {
        throw malformed("the metadata \(current.rawValue) appears twice")
      }
      guard metadata.count <= ExchangeLimits.metadataCount else {
        throw malformed("more than \(ExchangeLimits.metadataCount) pieces of metadata")
      }
      key = nil
    }
    guard key == nil else { throw malformed("metadata with a key that has no value") }
    return metadata
  }
}
