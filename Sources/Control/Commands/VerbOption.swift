/// An option: its spellings, help and completion.
package struct VerbOption: Sendable {
  /// All spellings without dashes; one-letter spellings have one dash. Code refers to the option by the last one.
  package let names: [String]
  package let value: String?
  package let help: String
  package let completion: Completion

  package init(
    _ names: String..., value: String? = nil, completion: Completion = .nothing,
    help: String
  ) {
    self.names = names
    self.value = value
    self.help = help
    self.completion = completion
  }

  package var name: String { names.last ?? "" }

  /// Its spellings as they are typed, for example `-n COUNT, --count=COUNT`.
  package var spelling: String {
    names.map { name in
      let value = value.map { name.count == 1 ? " \($0)" : "=\($0)" } ?? ""
      return (name.count == 1 ? "-" : "--") + name + value
    }.joined(separator: ", ")
  }

  package indirect enum Completion: Sendable {
    case nothing
    case files
    case versions
    case branches
    /// A version, then paths in the tree.
    case versionsAndPaths
    case paths
    case peers
    case verbs
    case choice([String])
    /// One for each operand.
    case sequence([Completion])
    case lines
    case sides
    case settings
    case merges
  }
}
