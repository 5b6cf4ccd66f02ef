/// An option: its spellings, help and completion.
package struct VerbOption: Sendable {
  /// All spellings without dashes; one-letter spellings have one dash. Code refers to the option by
  /// the last one.
  package let names: [String]
  /// The name of its value; nil if it takes none.
  package let value: String?
  /// Its effect: a clause without a period.
  package let help: String
  /// The kind of its value, for completion.
  package let completion: Completion

  init(_ names: String..., value: String? = nil, completion: Completion = .nothing, help: String) {
    self.names = names
    self.value = value
    self.help = help
    self.completion = completion
  }

  var name: String { names.last ?? "" }

  /// Its spellings as they are typed, for example `-n COUNT, --count=COUNT`.
  package var spelling: String {
    names.map { name in
      let value = value.map { name.count == 1 ? " \($0)" : "=\($0)" } ?? ""
      return (name.count == 1 ? "-" : "--") + name + value
    }.joined(separator: ", ")
  }

  /// The words that a shell offers.
  package enum Completion: Sendable {
    case nothing
    /// Files and directories.
    case files
    /// Names, ids, branches, tags and `head`.
    case versions
    case branches
    /// A version, then paths in the tree.
    case versionsAndPaths
    case paths
    case peers
    case verbs
    case choice([String])
  }

  /// The options of every verb.
  package static let common: [VerbOption] = [
    VerbOption(
      "store", value: "DIR", completion: .files,
      help: "act on this store; through its mount where it is mounted"),
    VerbOption(
      "mount", value: "DIR", completion: .files,
      help:
        "act on the store that is mounted there; without it, on the one around the current directory"
    ),
    VerbOption(
      "force",
      help: "write a store even on FUSE, NFS, SMB or 9p, where it is not safe"),
    VerbOption("json", help: "print JSON, one value a line"),
    VerbOption("q", "quiet", help: "print only errors and the requested output"),
    VerbOption("h", "help", help: "explain the verb"),
    VerbOption("V", "version", help: "print the release of llvs"),
  ]

  /// The options of verbs with long output.
  static let paged: [VerbOption] = [
    VerbOption(
      "color", value: "WHEN", completion: .choice(["auto", "always", "never"]),
      help: "colour: always, never, or auto: on a terminal, unless NO_COLOR is set"),
    VerbOption(
      "no-pager", help: "do not start a pager ($LLVS_PAGER, $PAGER, less) on a terminal"),
  ]
}
