import LLVSCore

/// A value of a reply for programs: one of the values of JSON.
package enum ReplyValue: Hashable, Sendable {
  case null
  case flag(Bool)
  case number(Int64)
  case text(String)
  case list([ReplyValue])
  /// An object; its fields keep their order.
  case record([ReplyField])

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

package struct ReplyField: Hashable, Sendable {
  package let name: String
  package let value: ReplyValue

  package init(_ name: String, _ value: ReplyValue) {
    self.name = name
    self.value = value
  }
}

extension ReplyValue: ExpressibleByDictionaryLiteral {
  /// The fields have the order of the literal.
  package init(dictionaryLiteral elements: (String, any Replying)...) {
    self = .record(elements.flatMap { $1.fields(named: $0) })
  }

  package var fields: [ReplyField] {
    guard case .record(let fields) = self else { return [] }
    return fields
  }

  package subscript(name: String) -> ReplyValue? { fields.first { $0.name == name }?.value }

  package static func + (first: ReplyValue, second: ReplyValue) -> ReplyValue {
    .record(first.fields + second.fields)
  }

  package static func += (first: inout ReplyValue, second: ReplyValue) { first = first + second }
}

package protocol Replying {
  var reply: ReplyValue { get }
  static func reply(of values: [Self]) -> ReplyValue
  func fields(named name: String) -> [ReplyField]
}

extension Replying {
  package static func reply(of values: [Self]) -> ReplyValue { .list(values.map(\.reply)) }
  package func fields(named name: String) -> [ReplyField] { [ReplyField(name, reply)] }
}

extension ReplyValue: Replying {
  package var reply: ReplyValue { self }
}

extension Bool: Replying {
  package var reply: ReplyValue { .flag(self) }
}

extension String: Replying {
  package var reply: ReplyValue { .text(self) }
}

extension Replying where Self: BinaryInteger {
  package var reply: ReplyValue { .number(Int64(clamping: self)) }
}

extension Int: Replying {}
extension Int64: Replying {}
extension UInt32: Replying {}
extension UInt64: Replying {}

extension UInt8: Replying {
  /// Bytes are a text; those that are not UTF-8 are replaced.
  package static func reply(of values: [UInt8]) -> ReplyValue {
    .text(String(decoding: values, as: UTF8.self))
  }
}

extension Array: Replying where Element: Replying {
  package var reply: ReplyValue { Element.reply(of: self) }
}

extension Optional: Replying where Wrapped: Replying {
  package var reply: ReplyValue { self?.reply ?? .null }
}

/// Any bytes, such as a path: those that are not UTF-8 are exact in a second field, `...Base64`.
package struct ReplyBytes: Replying {
  private let bytes: [UInt8]
  package init(_ bytes: [UInt8]) { self.bytes = bytes }
  package var reply: ReplyValue { bytes.reply }

  package func fields(named name: String) -> [ReplyField] {
    let shown = ReplyField(name, reply)
    guard String(validating: bytes, as: UTF8.self) == nil else { return [shown] }
    return [shown, ReplyField("\(name)Base64", .text(Base64.text(bytes)))]
  }
}
