internal import Platform

/// A JSON value with its place in the text, so that unchanged parts are copied as written.
struct JSONText {
  enum Kind {
    /// A string, a number or a literal: equal where it is written the same.
    case scalar
    case array([Item])
    case object([Item], index: [ArraySlice<UInt8>: Int])
  }

  /// An element or a member, with the white space around it.
  struct Item {
    /// The key in quotes, with its escapes resolved; empty in arrays.
    var key: ArraySlice<UInt8>
    /// From behind the bracket or comma to the item.
    var lead: Range<Int>
    /// From the item's start to the value: the key and the colon.
    var name: Range<Int>
    var value: JSONText
    /// From the item to the next comma or bracket.
    var trail: Range<Int>
  }

  var kind: Kind
  var range: Range<Int>

  /// Longer texts are not read.
  static let maximumLength = 4 << 20
  static let maximumDepth = 64

  /// Reads a text that holds one object or array; nil where it does not or has a key twice.
  static func parse(_ text: [UInt8]) -> JSONText? {
    guard text.count <= maximumLength else { return nil }
    return text.withUnsafeBufferPointer { bytes in
      var parser = JSONTextParser(text: text, scanner: JSONScanner(bytes))
      return parser.document()
    }
  }

  /// True if two values say the same; members may be in any order.
  static func isSame(_ a: JSONText, in one: [UInt8], _ b: JSONText, in other: [UInt8]) -> Bool {
    switch (a.kind, b.kind) {
    case (.scalar, .scalar): return one[a.range] == other[b.range]
    case (.array(let x), .array(let y)):
      return x.count == y.count
        && zip(x, y).allSatisfy { isSame($0.value, in: one, $1.value, in: other) }
    case (.object(let x, _), .object(let y, let index)):
      guard x.count == y.count else { return false }
      return x.allSatisfy { item in
        guard let place = index[item.key] else { return false }
        return isSame(item.value, in: one, y[place].value, in: other)
      }
    default: return false
    }
  }

  /// The value in bytes that are equal for values that say the same; see ``isSame(_:in:_:in:)``.
  func canonical(in text: [UInt8]) -> [UInt8] {
    func joined(_ items: [[UInt8]], _ open: Unicode.Scalar, _ close: Unicode.Scalar) -> [UInt8] {
      [UInt8(ascii: open)] + items.joined(separator: [UInt8(ascii: ",")])
        + [UInt8(ascii: close)]
    }
    switch kind {
    case .scalar: return Array(text[range])
    case .array(let items): return joined(items.map { $0.value.canonical(in: text) }, "[", "]")
    case .object(let items, _):
      let members = items.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { item in
        // With its length, a key cannot be confused with other parts.
        Array("\(item.key.count)".utf8) + item.key + item.value.canonical(in: text)
      }
      return joined(members, "{", "}")
    }
  }

  /// Returns the text of a string, in its quotes, with escapes resolved; half a surrogate pair becomes three bytes
  /// that no UTF-8 text has.
  static func unescaped(_ string: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard string.contains(UInt8(ascii: "\\")) else { return string }
    var result: [UInt8] = []
    var rest = string
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
        result.append(byte)
        continue
      }
      switch escape {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "u"):
        var code = hexadecimal(rest.prefix(4))
        rest = rest.dropFirst(4)
        if 0xD800..<0xDC00 ~= code, rest.starts(with: Array("\\u".utf8)) {
          let low = hexadecimal(rest.dropFirst(2).prefix(4))
          if 0xDC00..<0xE000 ~= low {
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            rest = rest.dropFirst(6)
          }
        }
        append(code, to: &result)
      default: result.append(escape)
      }
    }
    return result[...]
  }

  private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt32 {
    UInt32(String(decoding: digits, as: UTF8.self), radix: 16) ?? 0xFFFD
  }

  private static func append(_ code: UInt32, to bytes: inout [UInt8]) {
    func tail(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: 0x80 | (code >> shift) & 0x3F) }
    switch code {
    case ..<0x80: bytes.append(UInt8(code))
    case ..<0x800: bytes += [UInt8(0xC0 | code >> 6), tail(0)]
    case ..<0x10000: bytes += [UInt8(0xE0 | code >> 12), tail(6), tail(0)]
    default: bytes += [UInt8(truncatingIfNeeded: 0xF0 | code >> 18), tail(12), tail(6), tail(0)]
    }
  }
}

private struct JSONTextParser {
  let text: [UInt8]
  var scanner: JSONScanner
  var depth = 0

  mutating func document() -> JSONText? {
    guard String(validating: text, as: UTF8.self) != nil else { return nil }
    scanner.skipBlanks()
    guard let value = value() else { return nil }
    if case .scalar = value.kind { return nil }
    scanner.skipBlanks()
    return scanner.next == nil ? value : nil
  }

  private mutating func value() -> JSONText? {
    let start = scanner.offset
    if scanner.take("{") { return container(from: start, isObject: true) }
    if scanner.take("[") { return container(from: start, isObject: false) }
    return scanner.takeScalar() ? JSONText(kind: .scalar, range: start..<scanner.offset) : nil
  }

  private mutating func container(from start: Int, isObject: Bool) -> JSONText? {
    guard depth < JSONText.maximumDepth else { return nil }
    depth += 1
    defer { depth -= 1 }
    var items: [JSONText.Item] = []
    var index: [ArraySlice<UInt8>: Int] = [:]
    while true {
      let leadStart = scanner.offset
      scanner.skipBlanks()
      if items.isEmpty, scanner.take(isObject ? "}" : "]") { break }
      let itemStart = scanner.offset
      var key = text[itemStart..<itemStart]
      if isObject {
        guard scanner.takeString() else { return nil }
        key = JSONText.unescaped(text[itemStart..<scanner.offset])
        guard index[key] == nil else { return nil }
        index[key] = items.count
        scanner.skipBlanks()
        guard scanner.take(":") else { return nil }
        scanner.skipBlanks()
      }
      let valueStart = scanner.offset
      guard let value = value() else { return nil }
      let end = scanner.offset
      scanner.skipBlanks()
      items.append(
        JSONText.Item(
          key: key, lead: leadStart..<itemStart, name: itemStart..<valueStart, value: value,
          trail: end..<scanner.offset))
      if scanner.take(isObject ? "}" : "]") { break }
      guard scanner.take(",") else { return nil }
    }
    let range = start..<scanner.offset
    return JSONText(kind: isObject ? .object(items, index: index) : .array(items), range: range)
  }
}
