import LLVSCore

/// A value that is in a record of the journal.
///
/// Reading is bounded: bytes that no encoder writes make nothing, and no count is believed before as many
/// bytes are there.
protocol JournalCoded {
  func encode(into bytes: inout [UInt8])
  init?(from reader: inout ByteReader)
}

// Integers are big-endian, a Bool is u8 0 or 1, an optional value a Bool and the value, a list u32 and as many
// values.

extension UInt8: JournalCoded {
  func encode(into bytes: inout [UInt8]) { bytes.append(self) }
  init?(from reader: inout ByteReader) {
    guard let value = reader.integer(UInt8.self) else { return nil }
    self = value
  }
}

extension UInt32: JournalCoded {
  func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
  init?(from reader: inout ByteReader) {
    guard let value = reader.integer(UInt32.self) else { return nil }
    self = value
  }
}

extension UInt64: JournalCoded {
  func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
  init?(from reader: inout ByteReader) {
    guard let value = reader.integer(UInt64.self) else { return nil }
    self = value
  }
}

extension Int32: JournalCoded {
  func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
  init?(from reader: inout ByteReader) {
    guard let value = reader.integer(Int32.self) else { return nil }
    self = value
  }
}

extension Bool: JournalCoded {
  func encode(into bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
  init?(from reader: inout ByteReader) {
    guard let value = reader.integer(UInt8.self), value <= 1 else { return nil }
    self = value == 1
  }
}

extension [UInt8] {
  mutating func append<Value: JournalCoded>(optional value: Value?) {
    (value != nil).encode(into: &self)
    value?.encode(into: &self)
  }
}

extension ByteReader {
  /// Reads an optional value: nil if the bytes are none, `.some(nil)` if there is no value.
  mutating func optional<Value: JournalCoded>(_ type: Value.Type = Value.self) -> Value?? {
    guard let isThere = Bool(from: &self) else { return nil }
    guard isThere else { return .some(nil) }
    guard let value = Value(from: &self) else { return nil }
    return .some(value)
  }
}

extension Array: JournalCoded where Element: JournalCoded {
  func encode(into bytes: inout [UInt8]) {
    UInt32(truncatingIfNeeded: count).encode(into: &bytes)
    for element in self { element.encode(into: &bytes) }
  }
  init?(from reader: inout ByteReader) {
    guard let count = UInt32(from: &reader), count <= reader.remaining else { return nil }
    self = []
    for _ in 0..<count {
      guard let element = Element(from: &reader) else { return nil }
      append(element)
    }
  }
}
