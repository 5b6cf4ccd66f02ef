/// The fields of a body of type `application/x-www-form-urlencoded`, as bytes.
package struct FormBody: Sendable {
  private static let mostFields = 64
  private let fields: [String: [UInt8]]

  /// Reads a body; nil if it is malformed, has too many fields, or one of them twice.
  package init?(_ bytes: [UInt8]) {
    var fields: [String: [UInt8]] = [:]
    for part in bytes.split(separator: UInt8(ascii: "&")) {
      let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
      guard let name = Self.decoded(part[..<equals]),
        let value = Self.decoded(part[equals...].dropFirst()),
        let text = String(validating: name, as: UTF8.self),
        fields.updateValue(value, forKey: text) == nil, fields.count <= Self.mostFields
      else { return nil }
    }
    self.fields = fields
  }

  package subscript(name: String) -> [UInt8]? { fields[name] }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): out.append(0x20)
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
        else { return nil }
        out.append(high << 4 | low)
      default: out.append(byte)
      }
    }
    return out
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }
}
