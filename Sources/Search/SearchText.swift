enum SearchText {
  /// Returns the text of UTF-8, or of UTF-16 with a mark, without NULs; with `isCut` it may end within a character.
  static func text(_ bytes: [UInt8], isCut: Bool) -> String? {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      return wideText(bytes, isCut: isCut)
    }
    guard !bytes.contains(0) else { return nil }
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    guard isCut else { return nil }
    for count in 1...3 {
      if let text = String(validating: bytes.dropLast(count), as: UTF8.self) { return text }
    }
    return nil
  }

  private static func wideText(_ bytes: [UInt8], isCut: Bool) -> String? {
    let isLittle = bytes[0] == 0xFF
    guard isCut || bytes.count % 2 == 0 else { return nil }
    var units: [UInt16] = []
    units.reserveCapacity(bytes.count / 2)
    for at in stride(from: 2, to: bytes.count - 1, by: 2) {
      let (first, second) = (UInt16(bytes[at]), UInt16(bytes[at + 1]))
      units.append(isLittle ? first | second << 8 : second | first << 8)
    }
    // The first half of a character at the cut.
    if isCut, let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
    guard !units.contains(0) else { return nil }
    return String(validating: units, as: UTF16.self)
  }

  static func isBinary(_ bytes: [UInt8]) -> Bool {
    bytes.contains(0) && !bytes.starts(with: [0xFF, 0xFE]) && !bytes.starts(with: [0xFE, 0xFF])
  }

  static func ofPath(_ path: [UInt8]) -> String { separated(String(decoding: path, as: UTF8.self)) }

  /// True if a text has a word for FTS5.
  static func hasWord(_ text: String) -> Bool {
    text.unicodeScalars.contains { scalar in
      switch scalar.properties.generalCategory {
      // The categories of unicode61, except marks, which count only after letters.
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
        .decimalNumber, .letterNumber, .otherNumber, .privateUse:
        true
      default: false
      }
    }
  }

  /// Puts blanks around each character of scripts without blanks.
  static func separated(_ text: String) -> String {
    var text = text
    let isPlain = text.withUTF8 { bytes in !bytes.contains { $0 >= 0xE0 } }
    guard !isPlain else { return text }
    var result = ""
    result.reserveCapacity(text.utf8.count + 16)
    for scalar in text.unicodeScalars {
      let isAlone = isUnspaced(scalar)
      if isAlone { result += " " }
      result.unicodeScalars.append(scalar)
      if isAlone { result += " " }
    }
    return result
  }

  /// True for letters of Thai, Hiragana, Katakana, Han and Hangul.
  private static func isUnspaced(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x0E00...0x0E7F, 0x3040...0x30FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xAC00...0xD7AF,
      0xF900...0xFAFF, 0x20000...0x3FFFF:
      true
    default: false
    }
  }
}
