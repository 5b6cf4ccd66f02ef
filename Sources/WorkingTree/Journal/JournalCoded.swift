import LLVSCore

/// A value in a record. Reading is bounded: malformed bytes make nil, and no count is believed before its bytes
/// exist.
protocol JournalCoded {
  func encode(into bytes: inout ByteWriter)
  init?(from reader: inout ByteReader)
}

// Integers are big-endian, a Bool is u8 0 or 1, an optional a Bool and the value, a list u32 and its values.

extension JournalCoded where Self: FixedWidthInteger & BitwiseCopyable {
  func encode(into bytes: inout ByteWriter) { bytes.append(bigEndian: self) }
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
  func encode(into bytes: inout ByteWriter) { bytes.append(self ? 1 : 0) }
  init?(from reader: inout ByteReader) {
    guard let value = reader.integer(UInt8.self), value <= 1 else { return nil }
    self = value == 1
  }
}

extension JournalCoded where Self: RawRepresentable<UInt8> {
  func encode(into bytes: inout ByteWriter) { bytes.append(rawValue) }
  init?(from reader: inout ByteReader) {
    guard let value = UInt8(from: &reader) else { return nil }
    self.init(rawValue: value)
  }
}

extension Optional: JournalCoded where Wrapped: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    (self != nil).encode(into: &bytes)
    self?.encode(into: &bytes)
  }
  init?(from reader: inout ByteReader) {
    guard let isThere = Bool(from: &reader) else { return nil }
    guard isThere else {
      self = .none
      return
    }
    guard let value = Wrapped(from: &reader) else { return nil }
    self = .some(value)
  }
}

extension ByteWriter {
  @inline(__always)
  mutating func append<each Value: JournalCoded>(coded values: repeat each Value) {
    repeat (each values).encode(into: &self)
  }
}

extension Array: JournalCoded where Element: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
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
