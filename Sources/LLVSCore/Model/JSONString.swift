/// Writes strings of JSON.
package enum JSONString {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Appends UTF-8 bytes as a string of JSON, the marks around it included.
  ///
  /// Quotation marks and backslashes get a backslash, control characters are `\u00XX`, and all other
  /// bytes stay as they are: equal texts give equal bytes, which digests of metadata rely on.
  package static func append(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20:
        bytes.append(contentsOf: "\\u00".utf8)
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 15)])
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
