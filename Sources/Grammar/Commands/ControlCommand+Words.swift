extension ControlCommand {
  /// One line of help for each command.
  package static let usage: [(name: String, usage: String)] = [
    ("commit", "commit [MESSAGE]"),
    ("hold", "hold [TIME]"),
    ("retrieve", "retrieve [PEER...]"),
    ("send", "send [PEER...]"),
    ("exchange", "exchange [PEER...]"),
    ("merge", "merge [VERSION|BRANCH|all] [using ARBITER] [unrelated] [--dry-run]"),
    ("sync", "sync [PEER...]"),
    (
      "import",
      "import /DIRECTORY|kvcrdt:/FILE#DIRECTORY [into PATH] [on VERSION] [unrelated] [as MESSAGE] "
        + "[same DEVICE:INODE]"
    ),
    ("restore", "restore VERSION [PATH...]"),
    ("undo", "undo"),
    ("redo", "redo"),
    ("branch", "branch [NAME | --delete NAME [--force] | --rename NAME NEW]"),
    ("switch", "switch VERSION|BRANCH|- [as NAME]"),
    ("tag", "tag [NAME [VERSION] [--force] | --delete NAME | --rename NAME NEW]"),
    ("settle", "settle PATH|--all [ours|theirs|theirs.N|base|VERSION]"),
    ("conflicts", "conflicts [PATH]"),
    ("set", "set [NAME...|NAME=VALUE...|PEER.NAME=VALUE...|replica=new]"),
    ("ignore", "ignore [PATTERN... | --check PATH...]"),
    ("untrack", "untrack PATH..."),
    ("verify", "verify [PEER | --tree]"),
    ("peer", "peer NAME --reset|--force"),
    ("adopt", "adopt PEER WRITER"),
    ("key", "key list|open|add|remove|rotate PEER [LABEL]"),
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
    case "hold": self = .hold(nanoseconds: try arguments.holdingTime())
    case "retrieve": self = .retrieve(peers: try arguments.remainingTexts())
    case "send": self = .send(peers: try arguments.remainingTexts())
    case "exchange": self = .exchange(peers: try arguments.remainingTexts())
    case "sync": self = .sync(peers: try arguments.remainingTexts())
    case "import": self = .importing(try ControlCommand.importing(&arguments))
    case "merge": self = .merge(try ControlCommand.merge(&arguments))
    case "restore", "revert":
      let version = try arguments.text("a version")
      var paths: [[UInt8]] = []
      while let path = try arguments.pathIfAny() { paths.append(path) }
      self = .restore(version: version, paths: paths)
    case "undo": self = .undo
    case "redo": self = .redo
    case "branch": self = try ControlCommand.branching(&arguments)
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
    case "ignore": self = try ControlCommand.ignoring(&arguments)
    case "untrack":
      let paths = try arguments.remainingPaths()
      guard !paths.isEmpty else { throw arguments.misused("a path is missing") }
      guard !paths.contains([]) else {
        throw arguments.misused("everything cannot be taken out of versions")
      }
      self = .untrack(paths: paths)
    case "verify":
      let word = try arguments.textIfAny()
      self = word == "--tree" ? .verifyTree : .verify(peer: word)
    case "peer":
      let name = try arguments.text("a name")
      let word = try arguments.text("--reset or --force")
      guard let change = PeerChange(rawValue: word) else {
        throw arguments.misused("\"\(word)\" is neither --reset nor --force")
      }
      self = .peer(name, change)
    case "adopt":
      self = .adopt(peer: try arguments.text("a peer"), writer: try arguments.text("a writer"))
    case "key": self = try ControlCommand.key(&arguments)
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

  private static func ignoring(
    _ arguments: inout Arguments
  ) throws(ControlError) -> ControlCommand {
    if arguments.rest.first?.elementsEqual("--check".utf8) ?? false {
      arguments.skip()
      let paths = try arguments.remainingPaths()
      guard !paths.isEmpty else { throw arguments.misused("a path is missing") }
      return .checkIgnored(paths: paths)
    }
    return .ignore(patterns: try arguments.remainingLines())
  }

  private static func importing(_ arguments: inout Arguments) throws(ControlError) -> Import {
    guard let first = arguments.takeFirst() else {
      throw arguments.misused("what to import is missing")
    }
    let command: Import
    if first.starts(with: Array("kvcrdt:".utf8)) {
      guard let address = String(validating: first, as: UTF8.self) else {
        throw arguments.misused("an address that is not UTF-8")
      }
      command = Import(source: .document(address))
    } else if first.first == UInt8(ascii: "/") {
      command = Import(source: .directory(first))
    } else {
      throw arguments.misused("a directory is named by its absolute path")
    }
    var result = command
    while let word = try arguments.textIfAny() {
      switch word {
      case "into": result.into = try arguments.pathIfAny() ?? []
      case "on": result.base = try arguments.text("a version")
      case "unrelated": result.isUnrelated = true
      case "as": result.message = try arguments.text("a message")
      case "same":
        let numbers = try arguments.text("a device and an inode").split(separator: ":")
          .map { UInt64($0) }
        guard numbers.count == 2, let device = numbers[0], let inode = numbers[1] else {
          throw arguments.misused("\"same\" is followed by DEVICE:INODE")
        }
        result.identity = [device, inode]
      default: throw arguments.misused("\"\(word)\" is one word too many")
      }
    }
    return result
  }

  private static func switching(_ arguments: inout Arguments) throws(ControlError) -> ControlCommand
  {
    let target = try arguments.text("a version or a branch")
    guard let word = try arguments.textIfAny() else { return .switchTo(target, line: nil) }
    guard word == "as" else { throw arguments.misused("\"\(word)\" where \"as\" should be") }
    let name = try arguments.text("a name")
    return .switchTo(target, line: name == "-" ? name : try StoreName.checked(branch: name))
  }

  private static func branching(
    _ arguments: inout Arguments
  ) throws(ControlError) -> ControlCommand {
    switch try arguments.change() {
    case .delete(let name, let isForced): return .removeBranch(name, isForced: isForced)
    case .rename(let old, let new):
      return .renameBranch(old, to: try StoreName.checked(branch: new))
    case nil: break
    }
    guard let name = try arguments.textIfAny() else { return .branches }
    return .branch(try StoreName.checked(branch: name))
  }

  private static func tagging(_ arguments: inout Arguments) throws(ControlError) -> ControlCommand {
    switch try arguments.change() {
    // A tag is no place where versions are: nothing is lost with it.
    case .delete(let name, _): return .removeTag(name)
    case .rename(let old, let new): return .renameTag(old, to: try StoreName.checked(tag: new))
    case nil: break
    }
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
    var ofPeers: [PeerSettings.Assignment] = []
    if arguments.rest.count == 1, arguments.rest.first == Array("replica=new".utf8) {
      _ = arguments.takeFirst()
      return .renewReplica
    }
    while let word = try arguments.textIfAny() {
      if let equals = word.firstIndex(of: "=") {
        let (name, value) = (String(word[..<equals]), String(word[word.index(after: equals)...]))
        if PeerSettings.isName(name) {
          ofPeers.append(try PeerSettings.Assignment(name: name, value: value))
        } else {
          assignments.append(try StoreSettings.Assignment(name: name, value: value))
        }
      } else {
        names.append(try StoreSettings.Name(word: word))
      }
      guard [assignments.isEmpty, names.isEmpty, ofPeers.isEmpty].count(where: { !$0 }) < 2 else {
        throw arguments.misused("\"\(word)\" beside others that are not as it is")
      }
    }
    if !ofPeers.isEmpty { return .setPeers(ofPeers) }
    return assignments.isEmpty ? .settings(names) : .set(assignments)
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
struct Arguments {
  let name: String
  private(set) var rest: ArraySlice<[UInt8]>

  init(name: String, rest: ArraySlice<[UInt8]>) {
    self.name = name
    self.rest = rest
  }

  func misused(_ reason: String) -> ControlError {
    let usage = ControlCommand.usage.first { $0.name == name }?.usage ?? name
    return ControlError(.grammar, "\(reason); usage: \(usage)")
  }

  mutating func takeFirst() -> [UInt8]? { rest.popFirst() }

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

  /// A change of a branch's or tag's name.
  enum NameChange {
    case delete(String, isForced: Bool)
    case rename(String, String)
  }

  /// Takes `--delete NAME` or `--rename NAME NEW`; nil, and takes nothing, without either.
  mutating func change() throws(ControlError) -> NameChange? {
    guard let first = rest.first else { return nil }
    switch String(decoding: first, as: UTF8.self) {
    case "--delete":
      rest.removeFirst()
      var name: String?
      var isForced = false
      while let word = try textIfAny() {
        if word == "--force" || word == "-f" {
          isForced = true
        } else {
          guard name == nil else { throw misused("\"\(word)\" is one word too many") }
          name = word
        }
      }
      guard let name else { throw misused("a name is missing") }
      return .delete(name, isForced: isForced)
    case "--rename":
      rest.removeFirst()
      return .rename(try text("a name"), try text("the new name"))
    default: return nil
    }
  }

  /// Passes over a word.
  mutating func skip() { rest = rest.dropFirst() }

  mutating func remainingPaths() throws(ControlError) -> [[UInt8]] {
    var paths: [[UInt8]] = []
    while let path = try pathIfAny() { paths.append(path) }
    return paths
  }

  /// Takes all words, of any bytes that can be a line.
  mutating func remainingLines() throws(ControlError) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    while let word = rest.popFirst() {
      guard !word.isEmpty, !word.contains(0x0A), !word.contains(0) else {
        throw misused("a pattern is one line")
      }
      lines.append(word)
    }
    return lines
  }

  mutating func remainingTexts() throws(ControlError) -> [String] {
    var texts: [String] = []
    while let text = try textIfAny() { texts.append(text) }
    return texts
  }

  /// Takes a time up to ten minutes; a minute without one.
  mutating func holdingTime() throws(ControlError) -> UInt64 {
    guard let text = try textIfAny() else { return 60_000_000_000 }
    guard let time = Measure.duration(text), time > 0, time <= 600_000_000_000 else {
      throw misused("\"\(text)\" is not a time up to 10m, such as 30s")
    }
    return time
  }

  mutating func countIfAny() throws(ControlError) -> Int? {
    guard let text = try textIfAny() else { return nil }
    guard let count = Int(text), count > 0 else { throw misused("\"\(text)\" is not a count") }
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

  func end() throws(ControlError) {
    guard let extra = rest.first else { return }
    throw misused("\"\(String(decoding: extra, as: UTF8.self))\" is one word too many")
  }
}
