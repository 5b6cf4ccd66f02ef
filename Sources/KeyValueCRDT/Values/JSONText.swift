/// The grammar of JSON texts (RFC 8259), without comments, NaN and byte order mark.
/// Not SQLite's `json_valid`, because some versions accept JSON5.
package enum JSONText {
  /// - Complexity: O(*n*); nesting takes a bit a level, not a call.
  static func isValid(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isValid($0) }
  }

  /// True if valid UTF-8 is one JSON value with blanks around it.
  package static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var reader = Reader(bytes: bytes)
    return reader.readText()
  }

  private struct Reader {
    let bytes: UnsafeBufferPointer<UInt8>
    var at = 0
    /// The open arrays (false) and objects (true), outermost first.
    var open: [Bool] = []

    var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    mutating func take(_ byte: UInt8) -> Bool {
      guard next == byte else { return false }
      at += 1
      return true
    }

    mutating func skipBlanks() {
      while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
        at += 1
      }
    }

    mutating func readText() -> Bool {
      while true {
        skipBlanks()
        // Before a value.
        if take(UInt8(ascii: "{")) {
          skipBlanks()
          if !take(UInt8(ascii: "}")) {
            open.append(true)
            guard readName() else { return false }
            continue
          }
        } else if take(UInt8(ascii: "[")) {
          skipBlanks()
          if !take(UInt8(ascii: "]")) {
            open.append(false)
            continue
          }
        } else if !readScalar() {
          return false
        }
        // After a value.
        while true {
          skipBlanks()
          guard let isObject = open.last else { return at == bytes.count }
          if take(UInt8(ascii: ",")) {
            if isObject {
              skipBlanks()
              guard readName() else { return false }
            }
            break
          }
          guard take(UInt8(ascii: isObject ? "}" : "]")) else { return false }
          open.removeLast()
        }
      }
    }

    mutating func readName() -> Bool {
      guard readString() else { return false }
      skipBlanks()
      return take(UInt8(ascii: ":"))
    }

    mutating func readScalar() -> Bool {
      switch next {
      case UInt8(ascii: "\""): readString()
      case UInt8(ascii: "t"): readWord("true")
      case UInt8(ascii: "f"): readWord("false")
      case UInt8(ascii: "n"): readWord("null")
      default: readNumber()
      }
    }

    mutating func readWord(_ word: StaticString) -> Bool {
      word.withUTF8Buffer { word in
        for byte in word { guard take(byte) else { return false } }
        return true
      }
    }

    mutating func readString() -> Bool {
      guard take(UInt8(ascii: "\"")) else { return false }
      while let byte = next {
        at += 1
        switch byte {
        case UInt8(ascii: "\""): return true
        case 0..<0x20: return false
        case UInt8(ascii: "\\"): guard readEscape() else { return false }
        default: break
        }
      }
      return false
    }

    mutating func readEscape() -> Bool {
      guard let byte = next else { return false }
      at += 1
      guard byte == UInt8(ascii: "u") else { return "\"\\/bfnrt".utf8.contains(byte) }
      for _ in 0..<4 {
        guard let digit = next, Unicode.Scalar(digit).properties.isASCIIHexDigit else {
          return false
        }
        at += 1
      }
      return true
    }

    mutating func readNumber() -> Bool {
      _ = take(UInt8(ascii: "-"))
      if !take(UInt8(ascii: "0")) { guard readDigits() else { return false } }
      if take(UInt8(ascii: ".")) { guard readDigits() else { return false } }
      if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
        if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
        guard readDigits() else { return false }
      }
      return true
    }

    mutating func readDigits() -> Bool {
      let start = at
      while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { at += 1 }
      return at > start
    }
  }
}
