import Control
import Grammar
import HistoryTree
import LLVSCore
import TreeNames

extension Verb {
  @Sendable static func printCompletion(
    _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    let first = line.words.first ?? ""
    if line.words.count == 1, let script = CompletionScript.all[first] {
      if line.isJSON {
        console.tell(json: ["ok": true, "shell": first, "script": script])
      } else {
        console.tell(script)
      }
    } else if first == "words", line.wordsBeforeDashes == 1 {
      for word in Completion(Array(line.words.dropFirst())).words() { console.stream(line: word) }
    } else {
      throw UsageError("usage: llvs completion bash, zsh or fish")
    }
    return .done
  }
}

struct Completion {
  /// Makes the shell complete files and directories.
  static let files = ":files"
  private static let versionLimit = 200
  private let before: [String]
  private let word: String

  init(_ words: [String]) {
    before = Array(words.dropLast())
    word = words.last ?? ""
  }

  /// Returns the completions; never fails, because the shell shows no messages.
  func words() -> [String] {
    var seen: Set<String> = []
    // A common option may also be an option of the verb.
    return candidates().filter {
      ($0.hasSuffix(Self.files) || $0.hasPrefix(word)) && !$0.contains(where: \.isNewline)
        && seen.insert($0).inserted
    }
  }

  private func candidates() -> [String] {
    var verb: Verb?
    var operands = 0
    var open: VerbOption?
    var endsOptions = false
    for word in before {
      if open != nil {
        open = nil
      } else if word == "--" {
        endsOptions = true
      } else if word.hasPrefix("-"), word != "-", !endsOptions {
        let name = word.drop { $0 == "-" }
        let known = VerbOption.common + (verb?.options ?? [])
        let option = known.first { $0.names.contains { $0 == name } }
        open = option?.value == nil ? nil : option
      } else if verb == nil {
        verb = Verb.named(word)
        if verb == nil { return [] }
      } else {
        operands += 1
      }
    }
    if let open { return values(open.completion, operands) }
    if word.hasPrefix("-"), !endsOptions {
      if let equals = word.firstIndex(of: "=") { return values(of: word, upTo: equals, verb) }
      return (VerbOption.common + (verb?.options ?? [])).flatMap { option in
        option.names.map {
          ($0.count == 1 ? "-" : "--") + $0 + (option.value != nil && $0.count > 1 ? "=" : "")
        }
      }
    }
    guard let verb else { return Verb.all.map(\.name) }
    return values(verb.operands, operands)
  }

  private func values(of word: String, upTo equals: String.Index, _ verb: Verb?) -> [String] {
    let name = word[..<equals].drop { $0 == "-" }
    let option = (VerbOption.common + (verb?.options ?? [])).first {
      $0.names.contains { $0 == name }
    }
    guard let option else { return [] }
    return values(option.completion, 0).map { word[...equals] + $0 }
  }

  private func values(_ completion: VerbOption.Completion, _ operands: Int) -> [String] {
    switch completion {
    case .nothing: return []
    case .files: return [Self.files]
    case .versions: return versions() + inVersions()
    case .branches: return branches()
    case .versionsAndPaths: return versions() + inVersions() + paths()
    case .paths: return paths()
    case .peers: return ((try? store()?.peers()) ?? []).map(\.name)
    case .verbs: return Verb.all.map(\.name)
    case .choice(let words): return words
    case .lines:
      return operands == 0 ? branches() + [VersionRecord.unnamedLine] + versions() : ["as"]
    case .sequence(let all):
      return operands < all.count ? values(all[operands], operands) : []
    case .sides: return operands == 0 ? conflicts() : ["ours", "theirs", "base"] + versions()
    case .settings: return settings()
    case .merges:
      return before.last == "using"
        ? ArbiterChoice.allNames + ["exec"] : versions() + inVersions()
    }
  }

  private func settings() -> [String] {
    let prefix = "arbiter="
    guard word.hasPrefix(prefix) else {
      let peers = ((try? store()?.peers()) ?? []).flatMap { peer in
        PeerSettings.Name.allCases.map { "\(peer.name).\($0.rawValue)" }
      }
      return (StoreSettings.Name.allCases.map(\.rawValue) + peers).map { "\($0)=" }
    }
    let rules = word[..<(word.lastIndex { $0 == ":" || $0 == "," || $0 == "=" } ?? word.endIndex)]
    let names = ArbiterChoice.allNames.filter { $0 != "ours" && $0 != "theirs" }
    return names.map { word[...rules.endIndex] + $0 }
  }

  private func store() -> Store? { try? site()?.reader() }

  private func site() -> CommandTarget? {
    guard let line = try? CommandLine(before) else { return nil }
    return try? CommandTarget(line)
  }

  private func branches() -> [String] {
    ((try? store()?.lineNames().branches) ?? []).filter { $0 != VersionRecord.unnamedLine }
  }

  /// Names of versions that begin with the word, also behind `A..`, and days behind `at/`.
  private func versions() -> [String] {
    guard let dots = word.firstRange(of: "..") else { return versions(beginning: word) }
    let first = word[..<dots.upperBound]
    return versions(beginning: String(word[dots.upperBound...])).map { first + $0 }
  }

  private func versions(beginning word: String) -> [String] {
    guard let store = store(), let names = try? store.lineNames() else { return [] }
    var words = ["head", "at/"] + branches() + names.tags
    guard !word.isEmpty else { return words }
    let newest = (try? store.keptVersionsNewestFirst(before: nil, limit: Self.versionLimit)) ?? []
    if word.hasPrefix("at/") {
      words += ["at/today", "at/yesterday", "at/-1h"]
      let calendar = TimeExpression(now: TimestampText.now())
      words += newest.map { record in
        "at/" + calendar.day(of: Int64((record.timestamp + 978_307_200) * 1e9))
      }
    }
    words += newest.filter { !$0.line.hasPrefix("llvs.") }.map(\.name)
    let forgotten = (try? store.forgottenVersions()) ?? NumberSet()
    // Versions of any age whose names begin with the word.
    var last = String(word.dropLast()) + "\u{1}"
    if let found = try? store.version(named: word) { words.append(found.name) }
    while words.count < 2 * Self.versionLimit,
      let page = try? store.versions(afterName: last, limit: Self.versionLimit),
      let end = page.last
    {
      let meant = page.filter { $0.name.hasPrefix(word) }
      words += meant.filter {
        !$0.line.hasPrefix("llvs.") && !forgotten.contains($0.number)
      }.map(\.name)
      if meant.isEmpty || page.count < Self.versionLimit { break }
      last = end.name
    }
    return words
  }

  private func inVersions() -> [String] {
    guard let colon = word.firstIndex(of: ":"), let store = store() else { return [] }
    let name = String(word[..<colon])
    guard let record = try? store.version(meant: name.isEmpty ? "head" : name) else { return [] }
    let path = String(word[word.index(after: colon)...])
    return names(near: path, in: TreeView(map: store.map(of: record))).map { "\(name):\($0)" }
  }

  private func names(near path: String, in view: TreeView) -> [String] {
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    var listing = view.list(Array(directory.utf8))
    var found: [String] = []
    while found.count < 1000, let item = try? listing.next() {
      guard let name = String(validating: item.name, as: UTF8.self) else { continue }
      let isDirectory = item.kind == .directory
      found.append((directory.isEmpty ? "" : directory + "/") + name + (isDirectory ? "/" : ""))
    }
    return found
  }

  /// Returns the paths of conflicts, relative to the current directory.
  private func conflicts() -> [String] {
    guard let site = site(), let store = try? site.reader(),
      let here = try? site.path([UInt8(ascii: ".")]),
      let open = try? ControlService.openConflicts(in: store)
    else { return [] }
    let (slash, depth) = (UInt8(ascii: "/"), here.split(separator: UInt8(ascii: "/")).count)
    return open.map { item in
      here.isEmpty || item.path.starts(with: here + [slash])
        ? String(decoding: item.path.dropFirst(here.isEmpty ? 0 : here.count + 1), as: UTF8.self)
        : String(repeating: "../", count: depth) + String(decoding: item.path, as: UTF8.self)
    }
  }

  /// Returns the shell's own completion of files if the store is mounted, else paths of the head.
  private func paths() -> [String] {
    guard let site = site() else { return [Self.files] }
    guard case .store = site, let store = try? site.reader() else { return [Self.files] }
    guard let head = try? store.headRecord() else { return [] }
    return names(near: word, in: TreeView(map: store.map(of: head)))
  }
}
