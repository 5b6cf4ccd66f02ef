package enum JSONString {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Appends UTF-8 bytes as a JSON string in quotes.
  ///
  /// Quotation marks and backslashes get a backslash, control characters are `\u00XX`, and all other bytes are
  /// copied: equal texts give equal bytes, as digests of metadata require. With `isPrinted` U+007F to U+009F are
  /// `\u00XX` too, so that the string cannot control a terminal.
  package static func append(
    _ text: some Sequence<UInt8>, to bytes: inout [UInt8], isPrinted: Bool = false
  ) {
    func append(escaped byte: UInt8) {
      bytes.append(contentsOf: "\\u00".utf8)
      bytes.append(digits[Int(byte >> 4)])
      bytes.append(digits[Int(byte & 15)])
    }
    bytes.append(UInt8(ascii: "\""))
    var text = text.makeIterator()
    while let byte = text.next() {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20: append(escaped: byte)
      case 0x7F where isPrinted: append(escaped: byte)
      case 0xC2 where isPrinted:
        // The first byte of U+0080 to U+00BF, whose second byte is their number.
        guard let next = text.next() else { return bytes += [byte, UInt8(ascii: "\"")] }
        if next < 0xA0 { append(escaped: next) } else { bytes += [byte, next] }
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
