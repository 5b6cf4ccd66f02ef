internal import Platform

/// Reads an XML answer in UTF-8: elements, namespaces, text with references, CDATA, comments, instructions.
///
/// Servers are not trusted: declarations are refused, so nothing expands, and depth, names and texts are limited.
///
/// Source: "Extensible Markup Language (XML) 1.0 (Fifth Edition)" and "Namespaces in XML 1.0", W3C.
/// - Complexity: linear in the bytes; memory is bounded for any answer.
struct XMLStreamReader {
  /// A name without its prefix.
  typealias Start = (_ name: String, _ isDAV: Bool) -> Void
  /// Called at the end of an element, with the text after its last child.
  typealias End = (_ name: String, _ isDAV: Bool, _ text: String) throws(RemoteError) -> Void
  private static let deepest = 32
  private static let longestText = 1 << 14
  private static let longestName = 256
  private static let mostAttributes = 64
  private static let longestValue = 1 << 12
  private static let davNamespace = Array("DAV:".utf8)

  private struct Open {
    /// As written, with its prefix.
    var tag: [UInt8]
    var name: String
    var isDAV: Bool
    var text: [UInt8] = []
    /// The number of namespaces declared before it.
    var namespaces: Int
  }

  private struct Namespace {
    var prefix: [UInt8]
    var isDAV: Bool
  }

  private var input: XMLInput
  private let start: Start
  private let end: End
  private var open: [Open] = []
  private var namespaces: [Namespace] = []
  private var hasRoot = false

  static func read(_ bytes: [UInt8], start: Start = { _, _ in }, end: End) throws(RemoteError) {
    try read(XMLInput(bytes), start: start, end: end)
  }

  static func read(_ input: XMLInput, start: Start = { _, _ in }, end: End) throws(RemoteError) {
    try withoutActuallyEscaping(start) { (start) throws(RemoteError) in
      try withoutActuallyEscaping(end) { (end) throws(RemoteError) in
        var reader = XMLStreamReader(input: input, start: start, end: end)
        try reader.run()
      }
    }
  }

  private mutating func run() throws(RemoteError) {
    if try input.skip(0xEF) {
      guard try input.next() == 0xBB, try input.next() == 0xBF else {
        throw XMLInput.malformed("it does not begin with an element")
      }
    }
    while let byte = try input.peek() {
      if byte == UInt8(ascii: "<") {
        input.skip()
        try markup()
      } else if open.isEmpty {
        guard XMLInput.isSpace(byte) else {
          throw XMLInput.malformed("text is outside of all elements")
        }
        input.skip()
      } else {
        try text()
      }
    }
    guard hasRoot, open.isEmpty else { throw XMLInput.malformed("it ends too early") }
  }

  /// Reads markup after its `<`.
  private mutating func markup() throws(RemoteError) {
    switch try input.peek() {
    case UInt8(ascii: "?"):
      input.skip()
      try input.skip(past: "?>")
    case UInt8(ascii: "!"):
      input.skip()
      try declaration()
    case UInt8(ascii: "/"):
      input.skip()
      try endTag()
    default: try startTag()
    }
  }

  private mutating func declaration() throws(RemoteError) {
    switch try input.next() {
    case UInt8(ascii: "-"):
      try input.expect("-")
      try input.skip(past: "-->")
    case UInt8(ascii: "["):
      try input.expect("CDATA[")
      guard !open.isEmpty else { throw XMLInput.malformed("text is outside of all elements") }
      try rawText()
    default: throw RemoteError(.malformed, "the answer declares a type of its own")
    }
  }

  private mutating func startTag() throws(RemoteError) {
    guard !(hasRoot && open.isEmpty) else { throw XMLInput.malformed("it has a second root") }
    hasRoot = true
    guard open.count < Self.deepest else {
      throw RemoteError(.malformed, "the answer is nested too deep")
    }
    let tag = try name()
    let known = namespaces.count
    let isEmpty = try attributes()
    let (prefix, local) = Self.parts(of: tag)
    guard let name = String(validating: local, as: UTF8.self), !name.isEmpty else {
      throw XMLInput.malformed("a name is none")
    }
    let isDAV = namespaces.last { $0.prefix.elementsEqual(prefix) }?.isDAV ?? false
    // Text between elements is layout; that of a million elements would be long.
    if let last = open.indices.last { open[last].text.removeAll(keepingCapacity: true) }
    open.append(Open(tag: tag, name: name, isDAV: isDAV, namespaces: known))
    start(name, isDAV)
    if isEmpty { try close() }
  }

  private mutating func endTag() throws(RemoteError) {
    let tag = try name()
    try input.skipSpace()
    guard try input.next() == UInt8(ascii: ">"), open.last?.tag == tag else {
      throw XMLInput.malformed("an element does not end as it began")
    }
    try close()
  }

  private mutating func close() throws(RemoteError) {
    guard let element = open.popLast() else { return }
    namespaces.removeLast(namespaces.count - element.namespaces)
    guard let text = String(validating: element.text, as: UTF8.self) else {
      throw XMLInput.malformed("a text is not UTF-8")
    }
    try end(element.name, element.isDAV, text)
  }

  private mutating func name() throws(RemoteError) -> [UInt8] {
    var name: [UInt8] = []
    while let byte = try input.peek(), Self.isName(byte) {
      guard name.count < Self.longestName else { throw XMLInput.malformed("a name is too long") }
      input.take(Self.isName, into: &name, limit: Self.longestName)
    }
    guard let first = name.first, !Self.cannotBegin(first) else {
      throw XMLInput.malformed("a name is missing")
    }
    return name
  }

  /// All letters beyond ASCII are accepted.
  private static func isName(_ byte: UInt8) -> Bool { byte >= 0x80 || byte.isPlain("_-.:") }

  private static func cannotBegin(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
      || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
  }

  private static func parts(of tag: [UInt8]) -> (
    prefix: ArraySlice<UInt8>, local: ArraySlice<UInt8>
  ) {
    guard let colon = tag.firstIndex(of: UInt8(ascii: ":")) else { return ([], tag[...]) }
    return (tag[..<colon], tag[(colon + 1)...])
  }

  /// Reads attributes but keeps only namespaces; true if the element is empty.
  private mutating func attributes() throws(RemoteError) -> Bool {
    var names: [[UInt8]] = []
    while true {
      let spaces = try input.peek().map(XMLInput.isSpace) ?? false
      try input.skipSpace()
      switch try input.peek() {
      case UInt8(ascii: ">"):
        input.skip()
        return false
      case UInt8(ascii: "/"):
        input.skip()
        try input.expect(">")
        return true
      default: break
      }
      guard spaces, names.count < Self.mostAttributes else {
        throw XMLInput.malformed("the attributes of an element are malformed, or too many")
      }
      let name = try name()
      guard !names.contains(name) else { throw XMLInput.malformed("an attribute is there twice") }
      names.append(name)
      try input.skipSpace()
      try input.expect("=")
      try input.skipSpace()
      let value = try value()
      let (prefix, local) = Self.parts(of: name)
      if name.elementsEqual("xmlns".utf8) {
        namespaces.append(Namespace(prefix: [], isDAV: value == Self.davNamespace))
      } else if prefix.elementsEqual("xmlns".utf8) {
        namespaces.append(Namespace(prefix: Array(local), isDAV: value == Self.davNamespace))
      }
    }
  }

  private mutating func value() throws(RemoteError) -> [UInt8] {
    let quote = try input.next()
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
      throw XMLInput.malformed("the value of an attribute has no quotes")
    }
    var value: [UInt8] = []
    while true {
      let byte = try input.next()
      guard byte != quote else { return value }
      guard byte != UInt8(ascii: "<"), value.count < Self.longestValue else {
        throw XMLInput.malformed("the value of an attribute is malformed, or too long")
      }
      if byte == UInt8(ascii: "&") { value += try reference() } else { value.append(byte) }
    }
  }

  private mutating func text() throws(RemoteError) {
    let last = open.count - 1
    while let byte = try input.peek(), byte != UInt8(ascii: "<") {
      if Self.isPlain(byte), open[last].text.count < Self.longestText {
        input.take(Self.isPlain, into: &open[last].text, limit: Self.longestText)
        continue
      }
      input.skip()
      if byte == UInt8(ascii: "&") {
        for byte in try reference() { try add(byte) }
      } else {
        try addRaw(byte)
      }
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != UInt8(ascii: "<") && byte != UInt8(ascii: "&")
  }

  private mutating func rawText() throws(RemoteError) {
    var brackets = 0
    while true {
      let byte = try input.next()
      if byte == UInt8(ascii: "]") {
        // The first of three brackets belongs to the text.
        if brackets == 2 { try add(byte) } else { brackets += 1 }
        continue
      }
      if byte == UInt8(ascii: ">"), brackets == 2 { return }
      for _ in 0..<brackets { try add(UInt8(ascii: "]")) }
      brackets = 0
      try addRaw(byte)
    }
  }

  /// Adds a byte of the answer; all line ends become one byte.
  private mutating func addRaw(_ byte: UInt8) throws(RemoteError) {
    guard byte >= 0x20 || XMLInput.isSpace(byte) else {
      throw XMLInput.malformed("a text has control characters")
    }
    guard byte == 0x0D else { return try add(byte) }
    if try input.peek() != 0x0A { try add(0x0A) }
  }

  private mutating func add(_ byte: UInt8) throws(RemoteError) {
    let last = open.count - 1
    guard open[last].text.count < Self.longestText else {
      throw RemoteError(.malformed, "a text in the answer is too long")
    }
    open[last].text.append(byte)
  }

  /// Reads a reference after its `&`.
  private mutating func reference() throws(RemoteError) -> [UInt8] {
    var name: [UInt8] = []
    while true {
      let byte = try input.next()
      if byte == UInt8(ascii: ";") { break }
      guard name.count < 10 else { throw XMLInput.malformed("a reference is too long") }
      name.append(byte)
    }
    switch String(decoding: name, as: UTF8.self) {
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "amp": return [UInt8(ascii: "&")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default: break
    }
    guard name.first == UInt8(ascii: "#"), let scalar = Self.scalar(name.dropFirst()) else {
      throw XMLInput.malformed("a reference to something that is not declared")
    }
    return Array(String(Character(scalar)).utf8)
  }

  /// Returns the character of a number in decimal or, after `x`, hexadecimal digits; nil if XML forbids it.
  private static func scalar(_ text: ArraySlice<UInt8>) -> Unicode.Scalar? {
    let isHex = text.first == UInt8(ascii: "x")
    let digits = isHex ? text.dropFirst() : text
    // UInt32 would also accept a sign.
    guard let first = digits.first, first != UInt8(ascii: "+"),
      let number = UInt32(String(decoding: digits, as: UTF8.self), radix: isHex ? 16 : 10),
      let scalar = Unicode.Scalar(number)
    else { return nil }
    switch number {
    case 0x09, 0x0A, 0x0D, 0x20...0xFFFD, 0x10000...: return scalar
    default: return nil
    }
  }
}
