/// Percent-encoding of the parts of a URL (RFC 3986).
enum PercentCoding {
  /// Encodes all bytes except letters, digits, `-`, `.`, `_`, `~` and, if `keepingSlashes`, slashes.
  static func encode(_ text: String, keepingSlashes: Bool = false) -> String {
    let digits = Array<UInt8>("0123456789ABCDEF".utf8)
    var out: [UInt8] = []
    out.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isUnreserved(byte) || keepingSlashes && byte == UInt8(ascii: "/") {
        out.append(byte)
      } else {
        out += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Decodes a text; nil for a bad escape or bytes that are not UTF-8. `plusIsSpace` is for forms.
  static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    var out: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        out.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
      else { return nil }
      out.append(high << 4 | low)
    }
    return String(validating: out, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
