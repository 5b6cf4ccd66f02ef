/// Converts any bytes to text that does not move a terminal's cursor.
package enum PrintableText {
  /// Writes control bytes and the backslash as `\ooo`; copies the byte `spared`.
  package static func visible(_ bytes: [UInt8], sparing spared: UInt8? = nil) -> [UInt8] {
    guard bytes.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x5C && $0 != spared }) else {
      return bytes
    }
    return bytes.flatMap { byte -> [UInt8] in
      guard byte < 0x20 || byte == 0x7F || byte == 0x5C, byte != spared else { return [byte] }
      return escaped(byte)
    }
  }

  private static func escaped(_ byte: UInt8) -> [UInt8] {
    [0x5C, 0x30 + (byte >> 6), 0x30 + (byte >> 3 & 7), 0x30 + (byte & 7)]
  }

  /// Returns a number with its noun: `1 version`, `3 versions`.
  package static func count(_ number: some BinaryInteger, _ noun: String, _ plural: String? = nil)
    -> String
  {
    "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
  }

  /// Returns a number of files and directories; a tree of one entry is nearly always a file.
  package static func entries(_ number: Int) -> String {
    count(number, "file", "files and directories")
  }

  /// Writes control characters other than newlines as `\ooo`.
  package static func harmless(_ text: String) -> String {
    func isControl(_ scalar: Unicode.Scalar) -> Bool {
      scalar.value < 0x20 && scalar != "\n" || (0x7F...0x9F).contains(scalar.value)
    }
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var out: [UInt8] = []
    for scalar in text.unicodeScalars {
      let bytes = Array(String(scalar).utf8)
      out += isControl(scalar) ? bytes.flatMap(escaped) : bytes
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Like ``visible(_:sparing:)``; bytes that are not UTF-8 are written as `\ooo` too.
  package static func text(_ bytes: [UInt8]) -> String {
    let shown = visible(bytes)
    if let text = String(validating: shown, as: UTF8.self) { return text }
    var out: [UInt8] = []
    var rest = shown[...]
    while let byte = rest.first {
      // A character has four bytes at most.
      let count =
        byte < 0x80
        ? 1
        : (2...4).first { count in
          count <= rest.count
            && String(validating: rest.prefix(count), as: UTF8.self)?.unicodeScalars.count == 1
        }
      out += count.map { Array(rest.prefix($0)) } ?? escaped(byte)
      rest = rest.dropFirst(count ?? 1)
    }
    return String(decoding: out, as: UTF8.self)
  }
}
