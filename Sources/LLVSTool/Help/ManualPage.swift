import Control

/// The manual page llvs(1), made from the same texts as `--help`.
package enum ManualPage {
  package static var text: String {
    var lines = [
      ".TH LLVS 1 \"\" \"llvs \(Release.number)\" \"User Commands\"",
      ".SH NAME", "llvs \\- mount a versioned store as a directory",
      ".SH SYNOPSIS", ".B llvs", ".I VERB", "[\\fIOPTIONS\\fR] [\\fIWORDS\\fR]",
      ".SH DESCRIPTION", escaped(Verb.summary),
      "What is written into the mount is collected into new versions by itself. In every directory",
      ".I .llvs",
      "shows older versions as read\\-only directories; writing a command into",
      ".I .llvs/control",
      "does what the verb of that name does here.",
      ".SH VERBS",
    ]
    for verb in Verb.all {
      lines += [".TP", ".B \(escaped(verb.usage))", escaped(verb.help)]
      for option in verb.options { lines += [".RS", ".TP"] + entry(option) + [".RE"] }
    }
    lines.append(".SH OPTIONS OF ALL VERBS")
    for option in VerbOption.common { lines += [".TP"] + entry(option) }
    lines += [
      ".SH NAMING VERSIONS", escaped(versionsHelp), ".SH NAMING PATHS", escaped(Verb.pathsHelp),
      ".SH EXIT STATUS",
    ]
    for code in ExitCode.allCases {
      lines += [".TP", ".B \(code.rawValue)", escaped(code.meaning)]
    }
    lines += exampleLines
    lines += [
      ".SH ENVIRONMENT",
      ".TP", ".B LLVS_PAGER\\fR, \\fBPAGER", "shows long output on a terminal; empty or cat: none",
      ".TP", ".B NO_COLOR", "no colours unless \\-\\-color=always",
      ".TP", ".B COLUMNS", "how wide lines may be",
      ".SH FILES",
      ".TP", ".I .llvs/README", "the contents of .llvs, on one screen",
      ".SH SEE ALSO", ".BR mount (8),", ".BR patch (1),", ".BR git\\-apply (1)",
    ]
    return lines.joined(separator: "\n") + "\n"
  }

  private static func entry(_ option: VerbOption) -> [String] {
    [".B \(escaped(option.spelling))", escaped(option.help)]
  }

  /// The ways to name versions; also part of the help of verbs that take versions.
  package static let versionsHelp = """
    head; a version's name as .llvs/versions lists it, or its full id; a branch, or - for the unnamed line; \
    a tag; the beginning of a name or an id; what is told first counts, and branches/NAME and tags/NAME say \
    which is meant; at/TIME for what the tree showed then, with TIME as 2026-05-01, \
    2026-05-01T10:22, 10:22, yesterday, "tuesday 14:00", "2 hours ago", -2h or @SECONDS. V~ is what V was made from, V~3 the same three times, \
    V^2 the other side of a merge.
    """

  package static func escaped(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let safe = line.map { character -> String in
        switch character {
        case "\\": "\\e"
        case "-": "\\-"
        default: String(character)
        }
      }.joined()
      return safe.hasPrefix(".") || safe.hasPrefix("'") ? "\\&" + safe : safe
    }.joined(separator: "\n")
  }

  /// A use of the program: a sentence, and the commands.
  package struct Example: Sendable {
    package let text: String
    package let commands: [String]
  }

  /// The examples of the page; each continues where the one before it ended.
  package static let examples = [
    Example(
      text: "Mount a store, which is made if there is none, and work in it.",
      commands: ["llvs mount ~/notes.store ~/notes", "cd ~/notes", "echo 'buy milk' > todo.txt"]),
    Example(
      text: "See what is in no version yet, then make a version with a message.",
      commands: ["llvs diff", "llvs commit 'before lunch'"]),
    Example(
      text: "See what happened to a file, then bring it back as it was one version before.",
      commands: [
        "echo 'buy bread' > todo.txt; llvs commit bread", "llvs history todo.txt -u",
        "llvs restore head~ todo.txt",
      ]),
    Example(
      text: "Find a word in all versions.", commands: ["llvs grep milk"]),
    Example(
      text: "Exchange versions with other machines through a directory that both reach.",
      commands: ["llvs peer stick ~/stick", "llvs sync"]),
    Example(
      text: "List the conflicts of a merge, and take the other side everywhere.",
      commands: ["llvs conflicts", "llvs settle --all theirs"]),
    Example(
      text: "Make the last version and unmount.", commands: ["cd", "llvs unmount ~/notes"]),
  ]

  static var exampleLines: [String] {
    var lines = [".SH EXAMPLES"]
    for example in examples {
      lines += [".PP", escaped(example.text), ".PP", ".nf", ".RS"]
      lines += example.commands.map(escaped) + [".RE", ".fi"]
    }
    return lines
  }
}
