import Control
import Platform

struct CommandLine: Equatable {
  var verb = ""
  /// The words after the verb, except options.
  var words: [String] = []
  /// The same words as bytes: a path need not be UTF-8, and a String would replace invalid bytes.
  var bytes: [[UInt8]] = []
  /// The number of words before `--`; nil if there is no `--`.
  var wordsBeforeDashes: Int?
  var store: String?
  var mount: String?
  var isJSON = false
  var isQuiet = false
  var failsOnConflict = false
  var wantsHelp = false
  /// The options of single verbs by the last of their names, without dashes.
  var options: [String: String] = [:]
  /// All values of each option, in the order in which they were given.
  var optionValues: [String: [[UInt8]]] = [:]
  var optionBytes: [String: [UInt8]] { optionValues.compactMapValues(\.last) }
  init(_ arguments: [String]) throws { try self.init(bytes: arguments.map { Array($0.utf8) }) }

  init(bytes arguments: [[UInt8]]) throws {
    var rest = arguments[...]
    while let bytes = rest.popFirst() {
      let word = String(decoding: bytes, as: UTF8.self)
      if wordsBeforeDashes != nil || !word.hasPrefix("-") || word == "-" {
        if verb.isEmpty { verb = word } else { append(word, bytes) }
      } else if word == "--" {
        wordsBeforeDashes = words.count
      } else if word == "--dry-run" {
        // The grammar of the commands parses this option.
        append(word, bytes)
      } else {
        try take(word, bytes, &rest)
      }
    }
  }

  private mutating func append(_ word: String, _ bytes: [UInt8]) {
    words.append(word)
    self.bytes.append(bytes)
  }

  private mutating func take(
    _ word: String, _ given: [UInt8], _ rest: inout ArraySlice<[UInt8]>
  ) throws {
    var name = String(word.dropFirst(word.hasPrefix("--") ? 2 : 1))
    var value: String?
    var bytes: [UInt8]?
    if word.hasPrefix("--"), let equals = name.firstIndex(of: "=") {
      value = String(name[name.index(after: equals)...])
      name = String(name[..<equals])
      bytes = given.firstIndex(of: UInt8(ascii: "=")).map { Array(given[($0 + 1)...]) }
    } else if !word.hasPrefix("--"), name.utf8.allSatisfy({ (48...57).contains($0) }) {
      // -5, as git and tail accept it
      value = name
      name = "n"
    } else if !word.hasPrefix("--"), name.count > 1 {
      // -n5
      value = String(name.dropFirst())
      name = String(name.prefix(1))
    }
    let known = VerbOption.common + (Verb.named(verb)?.options ?? [])
    let isShort = !word.hasPrefix("--")
    guard let option = known.first(where: { $0.names.contains(name) }),
      isShort == (name.count == 1)
    else {
      throw UsageError(
        verb.isEmpty
          ? "there is no option \(word)"
          : "\(verb) has no option \(word); see llvs help \(verb)")
    }
    if option.value == nil {
      guard value == nil else { throw UsageError("\(word): --\(option.name) takes no value") }
    } else if value == nil {
      guard let next = rest.popFirst() else { throw UsageError("\(word) needs a value") }
      value = String(decoding: next, as: UTF8.self)
      bytes = next
    }
    if option.name == "store" || option.name == "mount", let bytes { try Self.checkPlace(bytes) }
    set(option.name, value ?? "")
    optionValues[option.name, default: []].append(bytes ?? Array((value ?? "").utf8))
  }

  private mutating func set(_ name: String, _ value: String) {
    switch name {
    case "store": store = value
    case "mount": mount = value
    case "json": isJSON = true
    case "quiet": isQuiet = true
    case "help": wantsHelp = true
    case "fail-on-conflict": failsOnConflict = true
    // Several -o are one list, as in mount(8).
    case "o" where verb == "mount": options[name] = options[name].map { "\($0),\(value)" } ?? value
    default: options[name] = value
    }
  }

  func droppingFirst() -> CommandLine {
    var line = self
    line.words.removeFirst()
    line.bytes.removeFirst()
    line.wordsBeforeDashes = wordsBeforeDashes.map { max(0, $0 - 1) }
    return line
  }

  func has(_ option: String) -> Bool { options[option] != nil }

  /// Returns the number in an option's value; nil if the option is not given.
  func number(_ option: String, atMost most: Int = .max) throws -> Int? {
    guard let text = options[option] else { return nil }
    guard let number = Int(text), (0...most).contains(number) else {
      throw UsageError("--\(option) needs a number, not \"\(text)\"")
    }
    return number
  }

  func operands(_ range: ClosedRange<Int>) throws -> [String] {
    guard range.contains(words.count) else {
      throw UsageError("usage: \(Verb.named(verb)?.usage ?? "llvs \(verb)")")
    }
    return words
  }

  /// Returns the words, which name stores, mounts and the like, if their number is in a range.
  /// - Throws: ``UsageError`` otherwise, and for a word that is not UTF-8.
  func places(_ range: ClosedRange<Int>) throws -> [String] {
    let words = try operands(range)
    for word in bytes { try Self.checkPlace(word) }
    return words
  }

  private static func checkPlace(_ bytes: [UInt8]) throws {
    guard String(validating: bytes, as: UTF8.self) == nil else { return }
    throw UsageError(
      "\(FileSystem.text(bytes)) is not UTF-8; the paths of stores and mount points must be")
  }
}
