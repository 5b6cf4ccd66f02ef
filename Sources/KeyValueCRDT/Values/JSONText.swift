/// The grammar of JSON texts (RFC 8259), and nothing else: no comments, no NaN, no byte order mark.
///
/// The check is our own, so that a text that was valid once always is: SQLite's `json_valid` came to take
/// JSON5 in one version and not in the next.
package enum JSONText {
  /// True if the text is one JSON value with blanks around it.
  ///
  /// - Complexity: O(*n*); nesting takes a bit a level, not a call.
  static func isValid(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isValid($0) }
  }

  /// True if bytes, which are valid UTF-8, are one JSON value with blanks around it.
  package static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var reader = Reader(bytes: bytes)
    return reader.readText()
  }

  private struct Reader {
    let bytes: UnsafeBufferPointer<UInt8>
    var at = 0
    /// The open arrays (false) and objects (true), outermost first.
    var open: [Bool] = []

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

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
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
        UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
        return true
      case UInt8(ascii: "u"):
        for _ in 0..<4 {
          guard let digit = next else { return false }
          switch digit {
          case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            at += 1
          default: return false
          }
        }
        return true
      default: return false
      }
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
