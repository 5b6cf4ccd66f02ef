package import Grammar
import HistoryTree
import Inodes
package import LLVSCore
import TreeNames
import WorkingTree

/// Lists the open conflicts at a path and below it; all of them without a path.
struct ConflictsCommand: Command {
  static let forms = [
    CommandForm(
      "conflicts", "[PATH]", paths: 0..<1, .paths,
      help: """
        Lists files that were changed on two sides and are not settled.
        Of each it tells what was kept and what was dropped: on which machine, by whom and when. The files are
        in .llvs/conflicts. It also lists files whose names ignored files have here.
        """)
  ]

  let path: [UInt8]?
  var effect: CommandEffect { .query }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    try service.conflicts(path ?? [])
  }
}

extension ConflictsCommand {
  init(_ arguments: inout Arguments) throws(ControlError) { path = try arguments.pathIfAny() }
}

extension ControlService {
  package struct OpenConflict: Sendable {
    package var path: [UInt8]
    package var conflict: ValueConflict
  }

  package func openConflicts(below path: [UInt8] = []) throws(ControlError) -> [OpenConflict] {
    try Self.openConflicts(in: store, below: path)
  }

  package static func openConflicts(
    in store: Store, below path: [UInt8] = []
  ) throws(ControlError) -> [OpenConflict] {
    try translating {
      guard let record = try store.headRecord() else { return [] }
      let view = TreeView(map: store.map(record.map))
      var open: [OpenConflict] = []
      let isNear = TreeView.mayBeShown(atOrBelow: path)
      for conflict in try store.openConflicts(at: record.number, where: isNear) {
        let shown = try view.path(of: conflict.key)
        guard PathFilter.isAtOrBelow(shown, path) else { continue }
        open.append(OpenConflict(path: shown, conflict: conflict))
      }
      return open
    }
  }

  /// Returns the number of values with open conflicts, displaced by a directory, or whose names scratch has.
  func countOpenConflicts() throws -> Int {
    guard let head = try store.state().head else { return 0 }
    return try Set(store.openConflictKeys(at: head))
      .union(displaced.keys(at: head, in: store)).count + tree.files.hidingScratch().count
  }

  fileprivate func conflicts(_ path: [UInt8]) throws -> CommandResult {
    let displaced = try displacedValues(below: path)
    let directories = Dictionary(
      displaced.map { ($0.entry.key, $0.directory) }, uniquingKeysWith: { $1 })
    let open = try openConflicts(below: path)
    var lines: [String] = []
    var values: [ReplyValue] = []
    for item in open {
      let sides = try ConflictSides(item.conflict, in: store)
      var line = "\(String(decoding: item.path, as: UTF8.self)): \(sides.text)"
      var value = Self.reply(item, sides)
      if let directory = directories[item.conflict.key] {
        line += "; \(Self.displacedText(directory, item.path))"
        value += ["directory": directory]
      }
      lines.append(line)
      values.append(value)
    }
    let clashed = Set(open.map(\.conflict.key))
    for value in displaced where !clashed.contains(value.entry.key) {
      let text = Self.displacedText(value.directory, value.path)
      lines.append("\(String(decoding: value.path, as: UTF8.self)): \(text)")
      values.append([
        "path": ReplyBytes(value.path), "hasBase": false, "hasOurs": true,
        "theirs": ReplyValue.list([]), "directory": value.directory,
      ])
    }
    for scratch in try tree.files.hidingScratch()
    where PathFilter.isAtOrBelow(scratch.path.bytes, path)
      || PathFilter.isAtOrBelow(scratch.shown.bytes, path)
    {
      let side = try scratch.version.flatMap { try store.version($0) }.map {
        try ConflictSide($0, in: store)
      }
      lines.append(
        "\(PrintableText.text(scratch.path.bytes)): from \(side?.text ?? "another version"), shown as "
          + "\(PrintableText.text(scratch.shown.bytes)); your ignored "
          + (scratch.isDirectory
            ? "directory has the name, and nothing in it is in a version" : "file has the name")
          + ": rename or remove one of them")
      values.append([
        "path": ReplyBytes(scratch.path.bytes), "hasBase": false, "hasOurs": true,
        "kept": side?.reply,
        "theirs": ReplyValue.list([]), "shown": ReplyBytes(scratch.shown.bytes),
      ])
    }
    return CommandResult(
      lines.isEmpty ? "no conflicts" : lines.joined(separator: "\n"), ["conflicts": values])
  }

  private static func displacedText(_ directory: [UInt8], _ path: [UInt8]) -> String {
    "\(String(decoding: directory, as: UTF8.self)) is a file on one side and a directory on the other; "
      + "the file is shown as \(String(decoding: path, as: UTF8.self)): rename one of them"
  }

  private static func reply(_ item: OpenConflict, _ sides: ConflictSides) -> ReplyValue {
    let theirs = sides.dropped.enumerated().map { index, side in
      ["name": ConflictTexts.name(ofTheirs: index)] + side.reply
    }
    return [
      "path": ReplyBytes(item.path), "hasBase": item.conflict.base != nil,
      "hasOurs": item.conflict.ours != nil, "kept": sides.kept, "theirs": theirs,
    ]
  }

  /// The most conflicts whose sides the reply of another command contains.
  static let conflictsTold = 5

  /// The makers of the sides of the first conflicts at some paths; omits paths without a conflict.
  func sides(of paths: [[UInt8]]) throws -> [(item: OpenConflict, sides: ConflictSides)] {
    try paths.prefix(Self.conflictsTold).compactMap { path in
      guard let item = try openConflicts(below: path).first(where: { $0.path == path }) else {
        return nil
      }
      return (item, try ConflictSides(item.conflict, in: store))
    }
  }

  static func reply(_ told: [(item: OpenConflict, sides: ConflictSides)]) -> ReplyValue {
    .list(told.map { reply($0.item, $0.sides) })
  }
}
