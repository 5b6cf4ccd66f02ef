import LLVSCore

/// A value of a reply for programs: one of the values of JSON.
package enum ReplyValue: Hashable, Sendable {
  /// No value.
  case null
  /// A boolean.
  case flag(Bool)
  /// A whole number.
  case number(Int64)
  /// A string.
  case text(String)
  /// An array.
  case list([ReplyValue])
  /// An object; its fields keep their order.
  case record([ReplyField])

  /// The JSON of the value, on one line.
  package var json: String {
    var out = ""
    write(to: &out)
    return out
  }

  private func write(to out: inout String) {
    switch self {
    case .null: out += "null"
    case .flag(let flag): out += flag ? "true" : "false"
    case .number(let number): out += String(number)
    case .text(let text): Self.quote(text, into: &out)
    case .list(let values):
      out += "["
      for (index, value) in values.enumerated() {
        if index > 0 { out += "," }
        value.write(to: &out)
      }
      out += "]"
    case .record(let fields):
      out += "{"
      for (index, field) in fields.enumerated() {
        if index > 0 { out += "," }
        Self.quote(field.name, into: &out)
        out += ":"
        field.value.write(to: &out)
      }
      out += "}"
    }
  }

  private static func quote(_ text: String, into out: inout String) {
    out += "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\t": out += "\\t"
      case "\r": out += "\\r"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: out.unicodeScalars.append(scalar)
      }
    }
    out += "\""
  }
}

/// A named part of a reply.
package struct ReplyField: Hashable, Sendable {
  /// The name in the JSON object.
  package var name: String
  /// The value.
  package var value: ReplyValue

  /// Creates a field.
  package init(_ name: String, _ value: ReplyValue) {
    self.name = name
    self.value = value
  }

  /// Creates a field with a text.
  package init(_ name: String, _ text: String) { self.init(name, .text(text)) }

  /// Creates a field with a number.
  package init(_ name: String, _ number: Int) { self.init(name, .number(Int64(number))) }

  /// The field for a path of any bytes.
  ///
  /// If the bytes are not UTF-8, for which JSON has no text, a second field, whose name ends with
  /// `Base64`, holds them exactly.
  package static func path(_ name: String, _ path: [UInt8]) -> [ReplyField] {
    let shown = ReplyField(name, String(decoding: path, as: UTF8.self))
    guard String(validating: path, as: UTF8.self) == nil else { return [shown] }
    return [shown, ReplyField("\(name)Base64", Base64.text(path))]
  }

  /// Creates a field with a list of paths as texts; bytes that are not UTF-8 are replaced.
  package init(_ name: String, _ paths: [[UInt8]]) {
    self.init(name, .list(paths.map { .text(String(decoding: $0, as: UTF8.self)) }))
  }
}
