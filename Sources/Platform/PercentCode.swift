internal import CShims

/// Bytes as `%XX` in text that may hold only some characters.
package enum PercentCode {
  private static let digits = Array("0123456789ABCDEF".utf8)

  /// Appends a byte as it is if it is plain, and as `%XX` otherwise.
  package static func append(_ byte: UInt8, _ marks: StaticString, to text: inout [UInt8]) {
    guard !byte.isPlain(marks) else { return text.append(byte) }
    text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// The number of a digit as ``append(_:_:to:)`` writes it; nil for another byte.
  package static func value(_ digit: UInt8) -> UInt8? {
    digits.firstIndex(of: digit).map { UInt8($0) }
  }

  /// Decodes bytes; nil for a bad escape. `plusIsSpace` is for forms.
  package static func decoded(
    _ bytes: some Sequence<UInt8>, plusIsSpace: Bool = false
  ) -> [UInt8]? {
    func digit(_ byte: UInt8) -> UInt8? {
      Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }
    var out: [UInt8] = []
    var rest = bytes.makeIterator()
    while let byte = rest.next() {
      guard byte == UInt8(ascii: "%") else {
        out.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        continue
      }
      guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else {
        return nil
      }
      out.append(high << 4 | low)
    }
    return out
  }
}

extension UInt8 {
  /// True for letters and digits of ASCII and for the bytes of `marks`.
  package func isPlain(_ marks: StaticString = "") -> Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: marks.withUTF8Buffer { unsafe $0.contains(self) }
    }
  }

  /// Returns the ASCII characters of a class of POSIX, such as `alpha`; nil for another name.
  package static func members(ofClass name: String) -> [UInt8]? {
    let type = unsafe wctype(name)
    guard type != 0, !name.utf8.contains(0) else { return nil }
    return (0..<0x80).filter { iswctype(UInt32($0), type) != 0 }
  }
}
