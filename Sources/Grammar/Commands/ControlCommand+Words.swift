extension ControlCommand {
  /// One line of help for each command.
  package static let usage: [(name: String, usage: String)] = [
    ("commit", "commit [MESSAGE]"),
    ("retrieve", "retrieve [PEER...]"),
    ("send", "send [PEER...]"),
    ("exchange", "exchange [PEER...]"),
    ("merge", "merge [VERSION|BRANCH|all] [using ARBITER] [unrelated] [--dry-run]"),
    ("sync", "sync [PEER...]"),
    ("restore", "restore VERSION [PATH...]"),
    ("undo", "undo"),
    ("redo", "redo"),
    ("branch", "branch NAME"),
    ("switch", "switch VERSION|BRANCH|- [as NAME]"),
    ("tag", "tag [NAME [VERSION] [--force]]"),
    ("settle", "settle PATH|--all [ours|theirs|theirs.N|base|VERSION]"),
    ("conflicts", "conflicts [PATH]"),
    ("set", "set [NAME...|NAME=VALUE...]"),
    ("compact", "compact [AGE] [--dry-run]"),
    ("purge", "purge PATH"),
    ("verify", "verify [PEER]"),
    ("status", "status"),
    ("pending", "pending"),
    ("log", "log [COUNT]"),
    ("help", "help"),
    ("json", "json COMMAND"),
  ]

  /// Parses the words of a line; the first is the command's name.
  ///
  /// - Throws: ``ControlError`` of kind `grammar`.
  package init(words: [[UInt8]]) throws(ControlError) {
    guard let name = words.first else { throw ControlError(.grammar, "no command") }
    var arguments = Arguments(
      name: String(decoding: name, as: UTF8.self), rest: words.dropFirst())
    self = try ControlCommand(&arguments)
    try arguments.end()
  }

  private init(_ arguments: inout Arguments) throws(ControlError) {
    switch arguments.name {
    case "commit":
      let words = try arguments.remainingTexts()
      self = .commit(message: words.isEmpty ? nil : words.joined(separator: " "))
    case "retrieve": self = .retrieve(peers: try arguments.remainingTexts())
    case "send": self = .send(peers: try arguments.remainingTexts())
    case "exchange": self = .exchange(peers: try arguments.remainingTexts())
    case "sync": self = .sync(peers: try arguments.remainingTexts())
    case "merge": self = .merge(try ControlCommand.merge(&arguments))
    case "restore", "revert":
      let version = try arguments.text("a version")
      var paths: [[UInt8]] = []
      while let path = try arguments.pathIfAny() { paths.append(path) }
      self = .restore(version: version, paths: paths)
    case "undo": self = .undo
    case "redo": self = .redo
    case "branch": self = .branch(try StoreName.checked(branch: try arguments.text("a name")))
    case "switch": self = try ControlCommand.switching(&arguments)
    case "tag": self = try ControlCommand.tagging(&arguments)
    case "settle":
      // The top of the tree stands for all that is below it.
      let isAll = arguments.rest.first?.elementsEqual("--all".utf8) ?? false
      guard let path = try arguments.pathIfAny() else {
        throw arguments.misused("a path is missing")
      }
      self = .settle(path: isAll ? [] : path, try Settlement(try arguments.textIfAny()))
    case "conflicts": self = .conflicts(path: try arguments.pathIfAny())
    case "set": self = try ControlCommand.setting(&arguments)
    case "compact": self = .compact(try ControlCommand.compact(&arguments))
    case "purge": self = .purge(path: try arguments.path())
    case "verify": self = .verify(peer: try arguments.textIfAny())
    case "status": self = .status
    case "pending": self = .pending
    case "log": self = .log(count: try arguments.countIfAny())
    case "help": self = .help
    default: throw ControlError(.grammar, "no command \"\(arguments.name)\"; help lists them")
    }
  }

  private static func merge(_ arguments: inout Arguments) throws(ControlError) -> Merge {
    var merge = Merge()
    var hasTarget = false
    while let word = try arguments.textIfAny() {
      switch word {
      case "using":
        guard merge.arbiter == nil else { throw arguments.misused("two arbiters") }
        let name = try arguments.text("an arbiter")
        merge.arbiter =
          name == "exec"
          ? try ArbiterChoice("exec \(try arguments.text("a command"))") : try ArbiterChoice(name)
      case "unrelated": merge.isUnrelated = true
      case "--dry-run": merge.isDryRun = true
      default:
        guard !hasTarget else { throw arguments.misused("\"\(word)\" is one target too many") }
        hasTarget = true
        merge.target = word == "all" ? .all : .named(word)
      }
    }
    if merge.isUnrelated, !hasTarget { throw arguments.misused("unrelated needs a version") }
    return merge
  }

  private static func switching(_ arguments: inout Arguments) throws(ControlError) -> ControlCommand
  {
    let target = try arguments.text("a version or a branch")
    guard let word = try arguments.textIfAny() else { return .switchTo(target, line: nil) }
    guard word == "as" else { throw arguments.misused("\"\(word)\" where \"as\" should be") }
    let name = try arguments.text("a name")
    return .switchTo(target, line: name == "-" ? name : try StoreName.checked(branch: name))
  }

  private static func tagging(_ arguments: inout Arguments) throws(ControlError) -> ControlCommand {
    var words: [String] = []
    var moves = false
    while let word = try arguments.textIfAny() {
      // These options are spelled as in git; no tag or version can have such a name.
      if word == "-f" || word == "--force" {
        moves = true
      } else {
        guard words.count < 2 else {
          throw arguments.misused("\"\(word)\" is one word too many")
        }
        words.append(word)
      }
    }
    guard let name = words.first else {
      guard !moves else { throw arguments.misused("a name is missing") }
      return .tags
    }
    return .tag(
      try StoreName.checked(tag: name), version: words.count > 1 ? words[1] : nil, moves: moves)
  }

  /// Either all words assign, or none does.
  private static func setting(_ arguments: inout Arguments) throws(ControlError) -> ControlCommand {
    var assignments: [StoreSettings.Assignment] = []
    var names: [StoreSettings.Name] = []
    while let word = try arguments.textIfAny() {
      if let equals = word.firstIndex(of: "=") {
        assignments.append(
          try StoreSettings.Assignment(
            name: String(word[..<equals]), value: String(word[word.index(after: equals)...])))
      } else {
        names.append(try StoreSettings.Name(word: word))
      }
      guard assignments.isEmpty || names.isEmpty else {
        throw arguments.misused("\"\(word)\" beside others that are not as it is")
      }
    }
    return assignments.isEmpty ? .settings(names) : .set(assignments)
  }

  private static func compact(_ arguments: inout Arguments) throws(ControlError) -> Compact {
    var compact = Compact()
    while let word = try arguments.textIfAny() {
      if word == "--dry-run" {
        compact.isDryRun = true
      } else {
        guard compact.age == nil else { throw arguments.misused("two ages") }
        guard let age = Measure.duration(word) else {
          throw arguments.misused("\"\(word)\" is no age: 90d, 12w, 1y")
        }
        compact.age = age / 1_000_000_000
      }
    }
    return compact
  }
}

extension ControlCommand.Settlement {
  fileprivate init(_ word: String?) throws(ControlError) {
    switch word {
    case nil: self = .asIs
    case "ours": self = .ours
    case "theirs": self = .theirs(1)
    case "base": self = .base
    case let word?:
      guard word.hasPrefix("theirs."), let number = Int(word.dropFirst(7)), number >= 2 else {
        self = .version(word)
        return
      }
      self = .theirs(number)
    }
  }
}

/// The words after a command's name, taken one at a time.
private struct Arguments {
  let name: String
  private(set) var rest: ArraySlice<[UInt8]>

  init(name: String, rest: ArraySlice<[UInt8]>) {
    self.name = name
    self.rest = rest
  }

  var isEmpty: Bool { rest.isEmpty }

  func misused(_ reason: String) -> ControlError {
    let usage = ControlCommand.usage.first { $0.name == name }?.usage ?? name
    return ControlError(.grammar, "\(reason); usage: \(usage)")
  }

  mutating func textIfAny() throws(ControlError) -> String? {
    guard let word = rest.popFirst() else { return nil }
    guard let text = String(validating: word, as: UTF8.self) else {
      throw misused("a word that is not UTF-8")
    }
    guard !text.isEmpty else { throw misused("an empty word") }
    return text
  }

  mutating func text(_ what: String) throws(ControlError) -> String {
    guard let text = try textIfAny() else { throw misused("\(what) is missing") }
    return text
  }

  mutating func remainingTexts() throws(ControlError) -> [String] {
    var texts: [String] = []
    while let text = try textIfAny() { texts.append(text) }
    return texts
  }

  mutating func countIfAny() throws(ControlError) -> Int? {
    guard let text = try textIfAny() else { return nil }
    guard let count = Int(text), count > 0 else { throw misused("\"\(text)\" is no count") }
    return count
  }

  /// Takes a path from the mount's root; empty components and `.` are left out.
  mutating func pathIfAny() throws(ControlError) -> [UInt8]? {
    guard let word = rest.popFirst() else { return nil }
    guard !word.isEmpty else { throw misused("an empty path") }
    var path: [UInt8] = []
    for component in word.split(separator: UInt8(ascii: "/")) {
      if component.elementsEqual(".".utf8) { continue }
      guard !component.elementsEqual("..".utf8) else {
        throw misused("paths start at the mount's root and have no \"..\"")
      }
      if !path.isEmpty { path.append(UInt8(ascii: "/")) }
      path += component
    }
    return path
  }

  mutating func path() throws(ControlError) -> [UInt8] {
    guard let path = try pathIfAny() else { throw misused("a path is missing") }
    guard !path.isEmpty else { throw misused("the mount's root is no value") }
    return path
  }

  func end() throws(ControlError) {
    guard let extra = rest.first else { return }
    throw misused("\"\(String(decoding: extra, as: UTF8.self))\" is one word too many")
  }
}
