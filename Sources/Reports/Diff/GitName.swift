/// Formats names in patches as git does.
enum GitName {
  /// Formats a name after `a/` or `b/`, in quotes if it has bytes that are impossible in a line. UTF-8 stays
  /// readable; git and patch accept it with and without quotes.
  static func quoted(_ path: [UInt8], behind prefix: String = "") -> String {
    let bytes = Array(prefix.utf8) + path
    let isPlain = bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x22 && $0 != 0x5C }
    if isPlain, let text = String(validating: bytes, as: UTF8.self) { return text }
    var text = "\""
    for byte in bytes {
      switch byte {
      case 0x22: text += "\\\""
      case 0x5C: text += "\\\\"
      case 0x07: text += "\\a"
      case 0x08: text += "\\b"
      case 0x09: text += "\\t"
      case 0x0A: text += "\\n"
      case 0x0B: text += "\\v"
      case 0x0C: text += "\\f"
      case 0x0D: text += "\\r"
      case 0x20...0x7E: text.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 8)
        text += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
      }
    }
    return text + "\""
  }

  /// Formats a name after `--- ` or `+++ `: a tab marks the end of a name with spaces.
  static func headed(_ path: [UInt8], behind prefix: String) -> String {
    let text = quoted(path, behind: prefix)
    return text.contains(" ") && !text.hasPrefix("\"") ? text + "\t" : text
  }
}
