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
        Such files stay out of versions when a pattern is removed. Status lists them. A directory stands for all of
        them in it.
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
    var tracked: [TreePath] = []
    for path in paths {
      let found = kept.filter { PathFilter.isAtOrBelow($0.bytes, path) && !tracked.contains($0) }
      tracked += found
      guard found.isEmpty, !tracked.contains(where: { PathFilter.isAtOrBelow($0.bytes, path) })
      else { continue }
      let shown = PrintableText.text(path)
      throw ControlError(
        .notFound,
        "\(shown) is not kept out by a pattern that is gone; try \"ignore --check \(shown)\"")
    }
    for path in tracked { try translating { try tree.files.track(path) } }
    let outcome = try cut()
    let name = outcome.head?.name
    let names = tracked.map(\.bytes)
    return CommandResult(
      "\(name ?? "-") has \(Self.names(names))",
      ["version": name, "tracked": names, "unsaved": outcome.allUnsaved])
  }
}
