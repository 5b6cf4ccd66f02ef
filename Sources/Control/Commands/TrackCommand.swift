import Grammar
import Inodes
import LLVSCore
import TreeNames
import WorkingTree

/// Puts scratch into versions that no pattern matches any more (docs/mounted-tree.md, rule 12).
struct TrackCommand: Command {
  static let forms = [
    CommandForm(
      "track", "PATH...", paths: 0..<Int.max, .paths,
      help: """
        Puts ignored files that no pattern matches any more into versions.
        Such files stay out of versions if a sync, an undo or a switch took the pattern away, or if .llvsignore was
        removed. Status lists them.
        """)
  ]

  let paths: [[UInt8]]

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    try service.track(paths)
  }

  init(_ arguments: inout Arguments) throws(ControlError) { paths = try arguments.somePaths() }
}

extension ControlService {
  /// - Throws: `exists` for the name of a file of the head, `notFound` for a path that is not kept out in this way.
  fileprivate func track(_ paths: [[UInt8]]) throws -> CommandResult {
    let kept = try tree.files.scratchWithoutPattern()
    for path in paths where !kept.contains(TreePath(path)) {
      let shown = PrintableText.text(path)
      throw ControlError(
        .notFound,
        "\(shown) is not kept out by a pattern that is gone; try \"ignore --check \(shown)\"")
    }
    for path in paths { try translating { try tree.files.track(TreePath(path)) } }
    let outcome = try cut()
    let name = outcome.head?.name
    let names = paths.map { PrintableText.text($0) }.joined(separator: " ")
    return CommandResult(
      "\(name ?? "-") has \(names)",
      ["version": name, "tracked": paths, "unsaved": outcome.allUnsaved])
  }
}
