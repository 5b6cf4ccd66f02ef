import LLVSCore

/// A value in a record. Reading is bounded: malformed bytes make nil, and no count is believed before its bytes
/// exist.
protocol JournalCoded {
  func encode(into bytes: inout [UInt8])
  init?(from reader: inout ByteReader)
}

// Integers are big-endian, a Bool is u8 0 or 1, an optional a Bool and the value, a list u32 and its values.

extension JournalCoded where Self: FixedWidthInteger & BitwiseCopyable {
  func encode(into bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
  init?(from reader: inout ByteReader) {
    guard let value = reader.integer(Self.self) else { return nil }
    self = value
  }
}

extension UInt8: JournalCoded {}
extension UInt32: JournalCoded {}
extension UInt64: JournalCoded {}
extension Int32: JournalCoded {}

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
  /// Reads an optional value: nil for malformed bytes, `.some(nil)` for no value.
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
