import Grammar
import HistoryTree
import LLVSCore
import Platform
import TreeNames

extension Verb {
  /// Prints the script for a shell, or, for that script, the completions of the last word.
  @Sendable static func printCompletion(
    _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    switch line.words.first {
    case "bash"? where line.words.count == 1: console.tell(Completion.bash)
    case "words"? where line.wordsBeforeDashes == 1:
      for word in Completion(Array(line.words.dropFirst())).words() { console.stream(line: word) }
    default: throw UsageError("usage: llvs completion bash")
    }
    return .done
  }
}

/// The completions of the last word of a command line.
struct Completion {
  /// Stands for files and directories, which the shell completes itself.
  static let files = ":files"
  /// The number of newest versions whose names are offered.
  private static let versionLimit = 200

  private let before: [String]
  private let word: String

  /// - Parameter words: the words after the program's name; the last one is to be completed.
  init(_ words: [String]) {
    before = Array(words.dropLast())
    word = words.last ?? ""
  }

  /// Returns the completions; never fails, since the shell shows no messages.
  func words() -> [String] {
    var seen: Set<String> = []
    // A common option may also be an option of the verb.
    return candidates().filter {
      ($0.hasSuffix(Self.files) || $0.hasPrefix(word)) && seen.insert($0).inserted
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
    if verb.name == "merge", before.last == "using" { return ArbiterChoice.allNames + ["exec"] }
    if verb.name == "set" { return settings() }
    if verb.name == "settle", operands > 0 { return ["ours", "theirs", "base"] + versions() }
    return values(verb.operands, operands)
  }

  /// Returns the completions of the value in `--name=`.
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
    case .versions: return versions()
    case .branches: return branches()
    case .versionsAndPaths: return versions() + paths()
    case .paths: return paths()
    case .peers: return ((try? store()?.peers()) ?? []).map(\.name)
    case .verbs: return Verb.all.map(\.name)
    case .choice(let words): return words
    }
  }

  /// Returns names of settings, or of arbiters after `arbiter=` and a pattern.
  private func settings() -> [String] {
    let prefix = "arbiter="
    guard word.hasPrefix(prefix) else {
      return StoreSettings.Name.allCases.map { "\($0.rawValue)=" }
    }
    let rules = word[..<(word.lastIndex { $0 == ":" || $0 == "," || $0 == "=" } ?? word.endIndex)]
    let names = ArbiterChoice.allNames.filter { $0 != "ours" && $0 != "theirs" }
    return names.map { word[...rules.endIndex] + $0 }
  }

  /// Returns the store that the line names, or the one whose mount contains the current directory.
  private func store() -> Store? { try? site()?.reader() }

  private func site() -> CommandTarget? {
    guard let line = try? CommandLine(before) else { return nil }
    return try? CommandTarget(line)
  }

  private func branches() -> [String] {
    ((try? store()?.lineNames().branches) ?? []).filter { $0 != VersionRecord.unnamedLine }
  }

  private func versions() -> [String] {
    guard let store = store(), let names = try? store.lineNames() else { return [] }
    var words = ["head"] + names.branches.filter { $0 != VersionRecord.unnamedLine } + names.tags
    let newest = (try? store.versionsNewestFirst(before: nil, limit: Self.versionLimit)) ?? []
    words += newest.filter { !$0.line.hasPrefix("llvs.") }.map(\.name)
    guard !word.isEmpty else { return words }
    // Versions of any age whose names begin with the word.
    var last = String(word.dropLast()) + "\u{1}"
    if let found = try? store.version(named: word) { words.append(found.name) }
    while words.count < 2 * Self.versionLimit,
      let page = try? store.versions(afterName: last, limit: Self.versionLimit),
      let end = page.last
    {
      let meant = page.filter { $0.name.hasPrefix(word) }
      words += meant.filter { !$0.line.hasPrefix("llvs.") }.map(\.name)
      if meant.isEmpty || page.count < Self.versionLimit { break }
      last = end.name
    }
    var seen: Set<String> = []
    return words.filter { seen.insert($0).inserted }
  }

  /// Returns the shell's own completion of files if the store is mounted, else paths of the head.
  private func paths() -> [String] {
    guard let site = site() else { return [Self.files] }
    guard case .store = site, let store = try? site.reader() else { return [Self.files] }
    guard let number = try? store.state().head, let head = try? store.version(number) else {
      return []
    }
    let slash = word.lastIndex(of: "/")
    let directory = slash.map { String(word[..<$0]) } ?? ""
    var listing = TreeView(map: store.map(of: head)).list(Array(directory.utf8))
    var found: [String] = []
    while found.count < 1000, let item = try? listing.next() {
      guard let name = String(validating: item.name, as: UTF8.self) else { continue }
      let isDirectory = item.kind == .directory
      found.append((directory.isEmpty ? "" : directory + "/") + name + (isDirectory ? "/" : ""))
    }
    return found
  }

  /// The completion script for bash.
  static let bash = #"""
    # Completion of llvs for bash: eval "$(llvs completion bash)"
    _llvs() {
      local word=${COMP_WORDS[COMP_CWORD]} part line files= cut= i
      local -a words=()
      # Bash cuts words at "=": --store=DIR is three of them.
      for ((i = 1; i <= COMP_CWORD; i++)); do
        part=${COMP_WORDS[i]}
        if [[ $part == = && ${words[-1]-} == --* ]] || [[ $cut && ${words[-1]} == *= ]]; then
          words[-1]+=$part cut=1
        else
          words+=("$part") cut=
        fi
      done
      [[ $word == = ]] && word=
      COMPREPLY=()
      while IFS= read -r line; do
        if [[ $line == *:files ]]; then
          files=1
        elif [[ $cut ]]; then
          COMPREPLY+=("${line#*=}")
        else
          COMPREPLY+=("$line")
        fi
      done < <(llvs completion words -- "${words[@]}" 2>/dev/null)
      if [[ $files ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
      fi
      if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=/] ]]; then
        compopt -o nospace 2>/dev/null
      fi
    }
    complete -F _llvs llvs
    """#
}
