/// The commands of one write to a control file, one per line.
///
/// Words are split and quoted as in a POSIX shell, without expansions. The message of `commit` is the rest of its
/// line, or lines in one pair of quotes; a quote without an end is refused, because bash's `echo` writes line by
/// line. `json` before a command requests JSON. Empty lines and lines that begin with `#` are skipped.
package struct ControlScript: Sendable {
  /// The longest write that is accepted, in bytes.
  package static let maximumLength = 65_536
  private var rest: ArraySlice<UInt8>
  /// True if `json` preceded the last command: its reply is to be JSON.
  package private(set) var isForPrograms = false

  /// - Throws: ``ControlError`` of kind `tooLong` above ``maximumLength``.
  package init(_ text: [UInt8]) throws(ControlError) {
    guard text.count <= ControlScript.maximumLength else {
      throw ControlError(.tooLong, "commands of more than \(ControlScript.maximumLength) bytes")
    }
    rest = text[...]
  }

  /// The words of the next command, the message of a `commit` as one word; nil at the end.
  /// - Throws: ``ControlError`` of kind `grammar` for a malformed line; later lines can still be read.
  package mutating func next() throws(ControlError) -> [[UInt8]]? {
    while !rest.isEmpty {
      skipBlanks()
      if rest.first == UInt8(ascii: "#") { _ = line() }
      guard let first = rest.first else { break }
      if first == UInt8(ascii: "\n") {
        rest.removeFirst()
        continue
      }
      isForPrograms = try takesJSON()
      if let message = try commitMessage() {
        return [Array("commit".utf8), Array((message ?? "").utf8)].filter { !$0.isEmpty }
      }
      let words = try self.words()
      if !words.isEmpty { return words }
    }
    return nil
  }

  package static func words(of line: [UInt8]) throws(ControlError) -> [[UInt8]] {
    var script = try ControlScript(line)
    return try script.words()
  }

  private mutating func skipBlanks() {
    rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    // Skips the CR of a Windows line end.
    if rest.starts(with: "\r\n".utf8) || rest.elementsEqual("\r".utf8) { rest.removeFirst() }
  }

  private mutating func takesJSON() throws(ControlError) -> Bool {
    let after = rest.dropFirst(4)
    guard rest.starts(with: "json".utf8), after.first.map({ $0 <= UInt8(ascii: " ") }) ?? true
    else { return false }
    rest = after
    skipBlanks()
    guard let next = rest.first, next != UInt8(ascii: "\n") else {
      throw ControlError(.grammar, "a command is missing; usage: json COMMAND")
    }
    return true
  }

  private mutating func line() -> ArraySlice<UInt8> {
    let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
    defer { rest = rest[min(end + 1, rest.endIndex)...] }
    return rest[..<end]
  }

  /// Takes the line of a `commit` and returns its message; nil, and takes nothing, if it is another command.
  private mutating func commitMessage() throws(ControlError) -> String?? {
    let name = "commit".utf8
    guard rest.starts(with: name) else { return nil }
    let after = rest.dropFirst(name.count).first
    guard after.map({ $0 <= UInt8(ascii: " ") }) ?? true else { return nil }
    if let message = try messageOfLines(rest.dropFirst(name.count)) { return message }
    var text = line().dropFirst(name.count)
    text = text.drop { $0 <= UInt8(ascii: " ") }
    while let last = text.last, last <= UInt8(ascii: " ") { text.removeLast() }
    guard !text.isEmpty else { return .some(nil) }
    if let quote = text.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
      !text.dropFirst().contains(quote)
    {
      throw ControlError(
        .grammar,
        "the quote that begins the message has no end: bash writes each line of echo by itself; "
          + "/bin/echo, printf %s and llvs commit -m write them together")
    }
    return try ControlScript.message(ControlScript.unquoted(text) ?? Array(text))
  }

  /// Takes a quoted message that ends in a later line, if nothing follows the quote; else nil.
  private mutating func messageOfLines(_ text: ArraySlice<UInt8>) throws(ControlError) -> String? {
    var script = self
    script.rest = text.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    guard let quote = script.rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
    else { return nil }
    guard let end = script.rest.firstIndex(of: UInt8(ascii: "\n")),
      let words = try? script.words(), script.rest.startIndex > end + 1, words.count == 1,
      var bytes = words.first
    else { return nil }
    while let last = bytes.last, last <= UInt8(ascii: " ") { bytes.removeLast() }
    guard !bytes.isEmpty else { return nil }
    // A refused message is taken too: the next command begins after it.
    rest = script.rest
    return try ControlScript.message(bytes)
  }

  private static func message(_ bytes: [UInt8]) throws(ControlError) -> String {
    guard !bytes.contains(0) else { throw ControlError(.grammar, "a message with a NUL byte") }
    guard let message = String(validating: bytes, as: UTF8.self) else {
      throw ControlError(.grammar, "a message that is not UTF-8")
    }
    return message
  }

  /// Removes the quotes of a text that is one quoted word; nil for other texts.
  private static func unquoted(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard let quote = text.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
      text.count >= 2, text.last == quote, !text.dropFirst().dropLast().contains(quote)
    else { return nil }
    return Array(text.dropFirst().dropLast())
  }

  private mutating func words() throws(ControlError) -> [[UInt8]] {
    let start = rest
    var words: [[UInt8]] = []
    var word: [UInt8]?
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\n"):
        if let word { words.append(word) }
        return words
      case UInt8(ascii: " "), UInt8(ascii: "\t"):
        if let done = word { words.append(done) }
        word = nil
      case UInt8(ascii: "\r") where rest.isEmpty || rest.first == UInt8(ascii: "\n"): break
      case UInt8(ascii: "'"):
        guard let end = rest.firstIndex(of: UInt8(ascii: "'")) else {
          throw unfinished(from: start, "a single quote has no end")
        }
        word = (word ?? []) + rest[..<end]
        rest = rest[(end + 1)...]
      case UInt8(ascii: "\""):
        guard let quoted = doubleQuoted() else {
          throw unfinished(from: start, "a double quote has no end")
        }
        word = (word ?? []) + quoted
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else {
          throw ControlError(.grammar, "nothing follows a backslash")
        }
        // A backslash at the end of a line joins it to the next.
        if escaped != UInt8(ascii: "\n") { word = (word ?? []) + [escaped] }
      case 0: throw unfinished(from: rest, "a NUL byte")
      default: word = (word ?? []) + [byte]
      }
    }
    if let word { words.append(word) }
    return words
  }

  private mutating func doubleQuoted() -> [UInt8]? {
    var text: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return text }
      guard byte == UInt8(ascii: "\\"), let next = rest.first else {
        text.append(byte)
        continue
      }
      switch next {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "$"), UInt8(ascii: "`"):
        text.append(next)
        rest.removeFirst()
      case UInt8(ascii: "\n"): rest.removeFirst()
      default: text.append(byte)
      }
    }
    return nil
  }

  /// Skips the line with the fault, and returns the error to throw.
  private mutating func unfinished(from start: ArraySlice<UInt8>, _ message: String) -> ControlError
  {
    rest = start
    _ = line()
    return ControlError(.grammar, message)
  }
}
