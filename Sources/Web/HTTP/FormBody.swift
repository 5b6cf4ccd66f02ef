import Platform

/// The fields of a body of type `application/x-www-form-urlencoded`, as bytes.
package struct FormBody: Sendable {
  private static let mostFields = 64
  private let fields: [String: [UInt8]]

  /// Reads a body; nil if it is malformed, has too many fields, or one of them twice.
  package init?(_ bytes: [UInt8]) {
    var fields: [String: [UInt8]] = [:]
    for part in bytes.split(separator: UInt8(ascii: "&")) {
      let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
      guard let name = PercentCode.decoded(part[..<equals], plusIsSpace: true),
        let value = PercentCode.decoded(part[equals...].dropFirst(), plusIsSpace: true),
        let text = String(validating: name, as: UTF8.self),
        fields.updateValue(value, forKey: text) == nil, fields.count <= Self.mostFields
      else { return nil }
    }
    self.fields = fields
  }

  package subscript(name: String) -> [UInt8]? { fields[name] }
}
