/// The words of a command line, read.
struct CommandLine: Equatable {
  var verb = ""
  /// The words after the verb that are no options.
  var words: [String] = []
  var store: String?
  var mount: String?
  var isJSON = false
  var isQuiet = false
  var failsOnConflict = false
  var wantsHelp = false
  /// Options of single verbs, by name, without dashes.
  var options: [String: String] = [:]

  /// Options that take a value, and those that do not.
  private static let valued: Set<String> = ["n", "o", "m", "into", "tool"]
  private static let flags: Set<String> = ["follow", "stat", "foreground", "force", "f"]

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    var endsOptions = false
    while let word = rest.popFirst() {
      if endsOptions || !word.hasPrefix("-") || word == "-" {
        if verb.isEmpty { verb = word } else { words.append(word) }
        continue
      }
      var name = String(word.drop { $0 == "-" })
      var value: String?
      if word.hasPrefix("--"), let equals = name.firstIndex(of: "=") {
        value = String(name[name.index(after: equals)...])
        name = String(name[..<equals])
      }
      func needed() throws -> String {
        if let value { return value }
        guard let next = rest.popFirst() else { throw UsageError("\(word) needs a value") }
        return next
      }
      switch name {
      case "" where word == "--": endsOptions = true
      case "store": store = try needed()
      case "mount": mount = try needed()
      case "json": isJSON = true
      case "quiet", "q": isQuiet = true
      case "fail-on-conflict": failsOnConflict = true
      case "help", "h": wantsHelp = true
      // The grammar of commands has this one itself.
      case "dry-run": words.append("--dry-run")
      case _ where Self.valued.contains(name):
        let text = try needed()
        options[name] = options[name].map { "\($0),\(text)" } ?? text
      case _ where Self.flags.contains(name): options[name == "f" ? "follow" : name] = ""
      default: throw UsageError("there is no option \(word)")
      }
    }
  }

  func has(_ option: String) -> Bool { options[option] != nil }

  /// The words of a verb that takes so many.
  func operands(_ range: ClosedRange<Int>) throws -> [String] {
    guard range.contains(words.count) else {
      throw UsageError("usage: \(Verb.named(verb)?.usage ?? "llvs \(verb)")")
    }
    return words
  }
}
