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
    var bytes: [UInt8] = []
    write(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .flag(let flag): bytes += (flag ? "true" : "false").utf8
    case .number(let number): bytes += String(number).utf8
    case .text(let text): JSONString.append(text.utf8, to: &bytes, isPrinted: true)
    case .list(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .record(let fields):
      bytes.append(UInt8(ascii: "{"))
      for (index, field) in fields.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONString.append(field.name.utf8, to: &bytes, isPrinted: true)
        bytes.append(UInt8(ascii: ":"))
        field.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}

/// A named part of a reply.
package struct ReplyField: Hashable, Sendable {
  /// The name in the JSON object.
  package var name: String
  /// The value.
  package var value: ReplyValue

  package init(_ name: String, _ value: ReplyValue) {
    self.name = name
    self.value = value
  }

  package init(_ name: String, _ text: String) { self.init(name, .text(text)) }

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
