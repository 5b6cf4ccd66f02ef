package enum ArbiterChoice: Hashable, Sendable {
  /// Takes the value that was stored last.
  case mostRecentChange
  /// Takes the value of the side whose head is newer.
  case mostRecentBranch
  case text
  case json
  case union
  /// Takes the value that was stored last, and keeps the other as a conflict.
  case keepBoth
  /// Only as an argument of a command, not as a setting.
  case ours
  /// Only as an argument of a command, not as a setting.
  case theirs
  /// A merge driver: a command that the shell runs.
  case exec(String)

  private static let names: [(String, ArbiterChoice)] = [
    ("most-recent-change", .mostRecentChange), ("most-recent-branch", .mostRecentBranch),
    ("text", .text), ("json", .json), ("union", .union), ("keep-both", .keepBoth),
    ("ours", .ours), ("theirs", .theirs),
  ]

  package static var allNames: [String] { names.map(\.0) }

  /// Parses a name, or `exec COMMAND`.
  /// - Throws: ``ControlError`` of kind `grammar` for anything else.
  package init(_ text: String) throws(ControlError) {
    if let found = ArbiterChoice.names.first(where: { $0.0 == text }) {
      self = found.1
      return
    }
    guard text.hasPrefix("exec ") else {
      let known = ArbiterChoice.names.map(\.0).joined(separator: ", ")
      throw ControlError(.grammar, "no arbiter \"\(text)\": \(known) or exec COMMAND")
    }
    let command = String(text.dropFirst(5).drop { $0 == " " })
    guard !command.isEmpty else { throw ControlError(.grammar, "exec needs a command") }
    self = .exec(command)
  }

  package var runsProgram: Bool {
    if case .exec = self { return true }
    return false
  }

  /// True if the choice takes one side, so that the user has chosen what is dropped.
  package var isOneSide: Bool { self == .ours || self == .theirs }

  package var text: String {
    if case .exec(let command) = self { return "exec \(command)" }
    return ArbiterChoice.names.first { $0.1 == self }?.0 ?? ""
  }
}

/// A rule of the setting `arbiter`: a pattern and the arbiter for matching paths; the last matching rule decides.
package struct ArbiterRule: Hashable, Sendable {
  /// A pattern as in an ignore file; nil for every path.
  package var pattern: String?
  package var arbiter: ArbiterChoice

  /// Parses `[PATTERN:]ARBITER,...`; a backslash quotes `,`, `:` and `\`; blanks after a comma are skipped.
  package static func list(_ text: String) throws(ControlError) -> [ArbiterRule] {
    var rules: [ArbiterRule] = []
    for part in split(text, at: ",") {
      let part = String(part.drop { $0 == " " })
      guard !part.isEmpty else { throw ControlError(.grammar, "an arbiter is missing in \(text)") }
      rules.append(try ArbiterRule(part))
    }
    return rules
  }

  private init(_ part: String) throws(ControlError) {
    let halves = ArbiterRule.split(part, at: ":", most: 1)
    if halves.count == 2, !part.hasPrefix("exec ") {
      guard !halves[0].isEmpty else { throw ControlError(.grammar, "a pattern is missing") }
      pattern = ArbiterRule.unescaped(halves[0])
      arbiter = try ArbiterChoice(ArbiterRule.unescaped(halves[1]))
    } else {
      arbiter = try ArbiterChoice(ArbiterRule.unescaped(part))
    }
    guard !arbiter.isOneSide else {
      throw ControlError(.grammar, "\(arbiter.text) is for single commands, not a setting")
    }
  }

  package var text: String {
    let name = ArbiterRule.escaped(arbiter.text)
    return pattern.map { "\(ArbiterRule.escaped($0)):\(name)" } ?? name
  }

  private static func split(_ text: String, at separator: Character, most: Int = .max) -> [String] {
    var parts = [""]
    var isEscaped = false
    for character in text {
      if !isEscaped, character == separator, parts.count <= most {
        parts.append("")
        continue
      }
      isEscaped = character == "\\" && !isEscaped
      parts[parts.count - 1].append(character)
    }
    return parts
  }

  private static func unescaped(_ text: String) -> String {
    var result = ""
    var isEscaped = false
    for character in text {
      if isEscaped {
        if !",:\\".contains(character) { result.append("\\") }
        result.append(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else {
        result.append(character)
      }
    }
    return isEscaped ? result + "\\" : result
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      if ",:\\".contains(character) { result.append("\\") }
      result.append(character)
    }
    return result
  }
}
