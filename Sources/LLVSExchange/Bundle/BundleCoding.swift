// The parts of a bundle as bytes; see BundleFormat.swift.

import LLVSCore

extension [UInt8] {
  /// Appends a version's id.
  mutating func append(bundled id: Version.ID) throws(StoreError) {
    if let fault = WireName.fault(of: id) { throw .invalid(fault) }
    if let words = id.uuidWords {
      append(0)
      append(bigEndian: words.high)
      append(bigEndian: words.low)
    } else {
      append(UInt8(id.rawValue.utf8.count))
      append(contentsOf: id.rawValue.utf8)
    }
  }

  /// Appends the description of a version; `distance` returns how many places before it a
  /// predecessor is.
  mutating func append(
    bundled version: Version, distance: (Version.ID) -> Int?
  ) throws(StoreError) {
    let predecessors = version.predecessors?.ids ?? []
    append(UInt8(predecessors.count))
    for id in predecessors {
      if let distance = distance(id) {
        append(varint: UInt64(distance))
      } else {
        append(varint: 0)
        try append(bundled: id)
      }
    }
    append(bigEndian: version.timestamp.bitPattern)
    append(varint: version.valueDataSize.map { UInt64(Swift.max(0, $0)) + 1 } ?? 0)
    append(varint: UInt64(version.metadata.count))
    for (key, value) in version.metadata.sorted(by: { $0.key < $1.key }) {
      append(counted: Array(key.rawValue.utf8))
      append(counted: value.data)
    }
  }
}

extension Version.ID {
  /// The 16 bytes of an id that is an upper-case UUID, as every id made here is; nil for another
  /// id.
  var uuidWords: (high: UInt64, low: UInt64)? {
    guard rawValue.utf8.count == 36 else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    var position = 0
    for byte in rawValue.utf8 {
      defer { position += 1 }
      if [8, 13, 18, 23].contains(position) {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      let digit: UInt8
      switch byte {
      case 0x30...0x39: digit = byte - 0x30
      case 0x41...0x46: digit = byte - 0x41 + 10
      default: return nil
      }
      high = high << 4 | low >> 60
      low = low << 4 | UInt64(digit)
    }
    return (high, low)
  }
}

extension ByteReader {
  mutating func bundledID() -> Version.ID? {
    guard let tag = integer(UInt8.self) else { return nil }
    if tag == 0 {
      guard let high = integer(UInt64.self), let low = integer(UInt64.self) else { return nil }
      return .uuid(high, low)
    }
    guard tag <= WireName.maximumLength, let bytes = take(Int(tag)),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    let id = Version.ID(text)
    return WireName.fault(of: id) == nil && id.uuidWords == nil ? id : nil
  }

  /// Reads the description of a version; `before` returns the id of the version so many places
  /// before it.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` with the reason.
  mutating func bundledVersion(
    _ id: Version.ID, before: (UInt64) -> Version.ID?
  ) throws(StoreError) -> Version {
    guard let count = integer(UInt8.self), count <= 2 else {
      throw .invalid("its predecessors are malformed")
    }
    var predecessors: [Version.ID] = []
    for _ in 0..<count {
      guard let distance = varint(),
        let predecessor = distance == 0 ? bundledID() : before(distance)
      else { throw .invalid("its predecessors are malformed") }
      guard predecessor != id, !predecessors.contains(predecessor) else {
        throw .invalid("a predecessor stands twice, or is the version itself")
      }
      predecessors.append(predecessor)
    }
    guard let bits = integer(UInt64.self) else { throw .invalid("its time is missing") }
    let timestamp = Double(bitPattern: bits)
    guard timestamp.magnitude < ExchangeLimits.timestamp else {
      throw .invalid("the timestamp \(timestamp) is out of range")
    }
    guard let size = varint() else { throw .invalid("its size is malformed") }
    let metadata = try bundledMetadata()
    guard remaining == 0 else { throw .invalid("something follows its metadata") }
    return Version(
      id: id,
      predecessors: predecessors.first.map {
        Version.Predecessors(idOfFirst: $0, idOfSecond: predecessors.dropFirst().first)
      },
      timestamp: timestamp, valueDataSize: size == 0 ? nil : Int64(clamping: size - 1),
      metadata: metadata)
  }

  private mutating func bundledMetadata() throws(StoreError) -> Version.Metadata {
    guard let count = varint(), count <= UInt64(ExchangeLimits.metadataCount) else {
      throw .invalid("more than \(ExchangeLimits.metadataCount) pieces of metadata")
    }
    var metadata: Version.Metadata = [:]
    var space = ExchangeLimits.metadataLength
    var last: Version.MetadataKey?
    for _ in 0..<count {
      guard let name = counted(atMost: ExchangeLimits.metadataKeyLength),
        let text = String(validating: name, as: UTF8.self), let data = counted(atMost: space)
      else { throw .invalid("its metadata is malformed") }
      let key = Version.MetadataKey(text)
      guard last.map({ $0 < key }) ?? true else { throw .invalid("its metadata is out of order") }
      last = key
      space -= data.count
      metadata[key] = Version.MetadataValue(data: Array(data))
    }
    return metadata
  }
}
