/// Bytes as `%XX` in text that may hold only some characters.
package enum PercentCode {
  private static let digits = Array("0123456789ABCDEF".utf8)

  /// True for letters and digits of ASCII and for the bytes of `marks`.
  package static func isPlain(_ byte: UInt8, _ marks: StaticString) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: marks.withUTF8Buffer { $0.contains(byte) }
    }
  }

  /// Appends a byte as it is if ``isPlain(_:_:)``, and as `%XX` otherwise.
  package static func append(_ byte: UInt8, _ marks: StaticString, to text: inout [UInt8]) {
    guard !isPlain(byte, marks) else { return text.append(byte) }
    text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// The number of a digit as ``append(_:_:to:)`` writes it; nil for another byte.
  package static func value(_ digit: UInt8) -> UInt8? {
    digits.firstIndex(of: digit).map { UInt8($0) }
  }
}
