import Platform

extension StoreSettings {
  /// The programs in a setting that are not installed here, in the order of the value. Of a shell command only the
  /// first word counts, if it is a plain name or path.
  package func missingPrograms(of name: Name) -> [String] {
    let programs: [String] =
      switch name {
      case .mergetool:
        mergetool.isEmpty ? [] : (try? MergeTool(mergetool)).map { [$0.words[0]] } ?? []
      case .onVersion: Self.program(of: onVersion)
      case .onConflict: Self.program(of: onConflict)
      case .onSync: Self.program(of: onSync)
      case .arbiter:
        arbiters.flatMap { rule -> [String] in
          guard case .exec(let command) = rule.arbiter else { return [] }
          return Self.program(of: command)
        }
      default: []
      }
    return programs.filter { !SystemProcess.isInstalled($0) }
  }

  /// Words that `sh` knows without a program.
  private static let shellWords: Set<String> = [
    "case", "cd", "command", "eval", "exec", "exit", "export", "for", "if", "read", "return", "set",
    "shift", "trap", "umask", "unset", "until", "wait", "while",
  ]

  private static func program(of command: String) -> [String] {
    let word = command.drop { $0 == " " }.prefix { $0 != " " }
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
        UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    guard isPlain, word.contains(where: { $0.isLetter }), !shellWords.contains(String(word)) else {
      return []
    }
    return [String(word)]
  }
}
