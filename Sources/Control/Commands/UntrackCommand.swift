import Events
import Grammar
import Inodes
import LLVSCore
import TreeNames
import WorkingTree

/// Removes paths from versions; they stay in the working tree, and a pattern keeps them unversioned.
struct UntrackCommand: Command {
  static let forms = [
    CommandForm(
      "untrack", "PATH...", paths: 0..<Int.max, .paths,
      help: """
        Takes files and directories out of versions and keeps them here.
        A pattern is added to .llvs/ignore unless one matches already. Other machines remove them at their next sync:
        earlier versions have them still.
        """)
  ]

  let paths: [[UInt8]]

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    try service.untrack(paths, context)
  }

  init(_ arguments: inout Arguments) throws(ControlError) {
    paths = try arguments.somePaths()
    guard !paths.contains([]) else {
      throw arguments.misused("everything cannot be taken out of versions")
    }
  }
}

extension ControlService {
  /// - Throws: `notFound` for a path that is in no version now, `busy` for an unsaved one.
  fileprivate func untrack(_ paths: [[UInt8]], _ context: CommandContext) throws -> CommandResult {
    let cut = try cut()
    if let unsaved = cut.allUnsaved.first(where: { path in
      paths.contains { PathFilter.isAtOrBelow(path, $0) }
    }) {
      throw ControlError(.busy, "not saved yet: \(PrintableText.text(unsaved))")
    }
    guard let head = try headRecord() else {
      throw ControlError(.notFound, "there is no version yet")
    }
    let view = TreeView(map: store.map(of: head))
    var entries: [Entry] = []
    var patterns: [[UInt8]] = []
    for path in paths {
      let shown = PrintableText.text(path)
      let isDirectory: Bool
      switch try view.find(path: path) {
      case nil: throw ControlError(.notFound, "\(shown) is in no version")
      case .value(let entry)?:
        entries.append(entry)
        isDirectory = false
      case .directory(let entry)?:
        if let entry { entries.append(entry) }
        var walk = view.entries(below: path)
        while let (_, entry) = try walk.next() { entries.append(entry) }
        isDirectory = true
      }
      if try tree.files.reasonToIgnore(TreePath(path), isDirectory: isDirectory) == nil {
        guard !path.contains(0x0A) else {
          throw ControlError(.grammar, "no pattern can name \(shown): it has a line end")
        }
        patterns.append(Self.pattern(for: path, isDirectory: isDirectory))
      }
    }
    if !patterns.isEmpty { try addPatterns(patterns, to: try ignoreText()) }
    let name = paths.map { PrintableText.text($0) }.joined(separator: " ")
    let outcome = try remove(entries, below: paths, at: head.number, name, context)
    let files = entries.count { !$0.isDirectory }
    log.add("untrack", "\(outcome.head?.name ?? "-") \(name)")
    return CommandResult(
      "\(outcome.head?.name ?? "-") is without \(name); "
        + "\(PrintableText.count(files, "file stays", "files stay")) here alone",
      ["version": outcome.head?.name, "untracked": paths, "files": files, "patterns": patterns])
  }

  private static func pattern(for path: [UInt8], isDirectory: Bool) -> [UInt8] {
    let special = Array("\\*?[".utf8)
    var text: [UInt8] = []
    for byte in path { text += special.contains(byte) ? [0x5C, byte] : [byte] }
    // Trailing spaces of a line count only with a backslash before them.
    if text.last == 0x20 { text.insert(0x5C, at: text.count - 1) }
    return [0x2F] + text + (isDirectory ? [0x2F] : [])
  }

  private func remove(
    _ entries: [Entry], below paths: [[UInt8]], at seen: VersionNumber, _ names: String,
    _ context: CommandContext
  ) throws -> CutOutcome {
    try move(.untracked(names), context, keeping: paths.map { TreePath($0) }) {
      (transaction, head) throws(StoreError) in
      guard head == seen, let record = try transaction.version(seen) else {
        throw .busy("another version was made in the meantime; try again")
      }
      let base = ValueMap(
        root: record.map, storage: transaction.nodes, cache: self.store.nodeCache)
      let edits = entries.map {
        MapEdit.remove($0.key, directory: $0.isDirectory)
      }.sorted(by: MapEdit.precedes)
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: seen, base: base,
          map: try base.applying(edits: edits), line: Self.branch(record.line),
          author: self.author, message: HeadReason.untracked(names).text)
      ).number
    }
  }
}
