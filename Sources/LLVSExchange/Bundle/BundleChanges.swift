import LLVSCore

/// The changes of a version in a bundle.
final class BundleChanges: ChangeSource {
  /// Changes of up to this many bytes are unpacked when they are opened.
  private static let readAhead: UInt64 = 65_536

  private let bundle: BundleReader
  private let label: String
  private let end: UInt64
  /// The offset in the content at which `buffer` ends.
  private var offset: UInt64
  private var buffer: [UInt8] = []
  private var position = 0

  init(
    _ bundle: BundleReader, _ range: Range<UInt64>, label: String
  ) throws(StoreError) {
    self.bundle = bundle
    self.label = label
    offset = range.lowerBound
    end = range.upperBound
    if range.upperBound - range.lowerBound <= BundleChanges.readAhead {
      while offset < end { try fill() }
    }
  }

  private func malformed(_ reason: String) -> StoreError { .invalid("\(label): \(reason)") }

  func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError) {
    while try !isAtEnd() {
      guard let tag = BundleFormat.Tag(rawValue: try byte()) else {
        throw malformed("a change of no known kind")
      }
      let key = try key()
      switch tag {
      case .insert: try body(.insert(key, try value(sink)))
      case .update: try body(.update(key, try value(sink)))
      case .remove: try body(.remove(key))
      case .preserveRemoval: try body(.preserveRemoval(key))
      case .preserve: try body(.preserve(key, try id()))
      }
    }
  }

  private func key() throws(StoreError) -> Key {
    let count = try varint()
    guard count <= UInt64(ExchangeLimits.keyLength) else {
      throw malformed("a key of more than \(ExchangeLimits.keyLength) bytes")
    }
    let bytes = try readBytes(Int(count))
    guard bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil else {
      throw malformed("a key is not UTF-8")
    }
    return Key(bytes: bytes)
  }

  private func value<Sink: WireValueSink>(_ sink: Sink) throws(StoreError) -> Sink.Stored {
    var rest = try varint()
    while rest > 0 {
      guard try !isAtEnd() else { throw malformed("a value ends too early") }
      let count = Int(min(rest, UInt64(buffer.count - position)))
      try buffer.withPiece { (raw) throws(StoreError) in
        try sink.append(raw.part(position, count))
      }
      position += count
      rest -= UInt64(count)
    }
    return try sink.finish()
  }

  private func id() throws(StoreError) -> Version.ID {
    let tag = try byte()
    let bytes = [tag] + (try readBytes(tag == 0 ? 16 : Int(tag)))
    let id = bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      return reader.bundledID()
    }
    guard let id else { throw malformed("a reference that is not whole") }
    return id
  }

  // MARK: Bytes

  private func isAtEnd() throws(StoreError) -> Bool {
    if position < buffer.count { return false }
    guard offset < end else { return true }
    buffer.removeAll(keepingCapacity: true)
    position = 0
    try fill()
    return false
  }

  private func fill() throws(StoreError) {
    let count = try bundle.withContent(at: offset, upTo: end) { buffer.append(contentsOf: $0) }
    offset += UInt64(count)
  }

  private func byte() throws(StoreError) -> UInt8 {
    guard try !isAtEnd() else { throw malformed("its changes end too early") }
    defer { position += 1 }
    return buffer[position]
  }

  private func readBytes(_ count: Int) throws(StoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard try !isAtEnd() else { throw malformed("its changes end too early") }
      let next = min(count - bytes.count, buffer.count - position)
      bytes.append(contentsOf: buffer[position..<(position + next)])
      position += next
    }
    return bytes
  }

  private func varint() throws(StoreError) -> UInt64 {
    var bytes: [UInt8] = []
    while bytes.count < 9 {
      bytes.append(try byte())
      if bytes[bytes.count - 1] & 0x80 == 0 { break }
    }
    let value = bytes.withUnsafeBytes { raw -> UInt64? in
      var reader = ByteReader(raw)
      return reader.varint()
    }
    guard let value else { throw malformed("a number is malformed") }
    return value
  }
}
