/// Reads the tokens of a JSON text (RFC 8259), without comments, NaN and byte order mark.
@safe package struct JSONScanner {
  private let bytes: UnsafeBufferPointer<UInt8>
  package private(set) var offset = 0

  /// The bytes are valid UTF-8 and must outlive the scanner.
  package init(_ bytes: UnsafeBufferPointer<UInt8>) { unsafe self.bytes = bytes }

  package var next: UInt8? { unsafe offset < bytes.count ? bytes[offset] : nil }

  package mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    offset += 1
    return true
  }

  package mutating func skipBlanks() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
      offset += 1
    }
  }

  /// Takes a value that is no array and no object.
  package mutating func takeScalar() -> Bool {
    switch next {
    case UInt8(ascii: "\""): takeString()
    case UInt8(ascii: "t"): takeWord("true")
    case UInt8(ascii: "f"): takeWord("false")
    case UInt8(ascii: "n"): takeWord("null")
    default: takeNumber()
    }
  }

  private mutating func takeWord(_ word: String) -> Bool {
    for character in word.unicodeScalars { guard take(character) else { return false } }
    return true
  }

  package mutating func takeString() -> Bool {
    guard take("\"") else { return false }
    while let byte = next {
      offset += 1
      switch byte {
      case UInt8(ascii: "\""): return true
      case 0..<0x20: return false
      case UInt8(ascii: "\\"): guard takeEscape() else { return false }
      default: break
      }
    }
    return false
  }

  private mutating func takeEscape() -> Bool {
    guard let byte = next else { return false }
    offset += 1
    guard byte == UInt8(ascii: "u") else { return "\"\\/bfnrt".utf8.contains(byte) }
    for _ in 0..<4 {
      guard let digit = next, Unicode.Scalar(digit).properties.isASCIIHexDigit else { return false }
      offset += 1
    }
    return true
  }

  package mutating func takeNumber() -> Bool {
    _ = take("-")
    if !take("0") { guard takeDigits() else { return false } }
    if take(".") { guard takeDigits() else { return false } }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      guard takeDigits() else { return false }
    }
    return true
  }

  private mutating func takeDigits() -> Bool {
    let start = offset
    while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { offset += 1 }
    return offset > start
  }
}
