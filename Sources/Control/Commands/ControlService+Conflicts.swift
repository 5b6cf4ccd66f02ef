package import Grammar
import HistoryTree
package import LLVSCore
import TreeNames

extension ControlService {
  /// An open conflict and the path at which the tree shows its value.
  package struct OpenConflict: Sendable {
    /// The path.
    package var path: [UInt8]
    /// The conflict.
    package var conflict: ValueConflict
  }

  /// Returns the open conflicts at the head, in order of keys, at a path and below it; all by
  /// default.
  package func openConflicts(below path: [UInt8] = []) throws(ControlError) -> [OpenConflict] {
    try Self.openConflicts(in: store, below: path)
  }

  /// Returns the same for a store that is open for reading only.
  package static func openConflicts(
    in store: Store, below path: [UInt8] = []
  ) throws(ControlError) -> [OpenConflict] {
    try translating { () throws(StoreError) in
      guard let head = try store.state().head, let record = try store.version(head) else {
        return []
      }
      let view = TreeView(map: store.map(record.map))
      var open: [OpenConflict] = []
      let isNear = TreeView.mayBeShown(atOrBelow: path)
      for conflict in try store.openConflicts(at: head, where: isNear) {
        let shown = try view.path(of: conflict.key)
        guard PathFilter.isAtOrBelow(shown, path) else { continue }
        open.append(OpenConflict(path: shown, conflict: conflict))
      }
      return open
    }
  }

  /// Returns the number of values that have open conflicts or are displaced by a directory.
  func countOpenConflicts() throws(ControlError) -> Int {
    try translating { () throws(StoreError) in
      guard let head = try store.state().head else { return 0 }
      return try Set(store.openConflictKeys(at: head))
        .union(displaced.keys(at: head, in: store)).count
    }
  }

  func conflicts(_ path: [UInt8]?) throws(ControlError) -> CommandResult {
    let open = try openConflicts(below: path ?? [])
    let displaced = try displacedValues(below: path ?? [])
    let directories = Dictionary(
      displaced.map { ($0.entry.key, String(decoding: $0.directory, as: UTF8.self)) },
      uniquingKeysWith: { $1 })
    var lines: [String] = []
    var fields: [ReplyValue] = []
    for item in open {
      let sides = try translating { () throws(StoreError) in
        try ConflictSides(item.conflict, in: store)
      }
      var line = "\(String(decoding: item.path, as: UTF8.self)): \(sides.text)"
      var record = Self.record(item, sides)
      if let directory = directories[item.conflict.key] {
        line += "; \(Self.displacedText(directory, String(decoding: item.path, as: UTF8.self)))"
        record.append(ReplyField("directory", directory))
      }
      lines.append(line)
      fields.append(.record(record))
    }
    let clashed = Set(open.map(\.conflict.key))
    for value in displaced where !clashed.contains(value.entry.key) {
      let path = String(decoding: value.path, as: UTF8.self)
      let directory = String(decoding: value.directory, as: UTF8.self)
      lines.append("\(path): \(Self.displacedText(directory, path))")
      fields.append(
        .record(
          ReplyField.path("path", value.path) + [
            ReplyField("hasBase", .flag(false)), ReplyField("hasOurs", .flag(true)),
            ReplyField("theirs", .list([])), ReplyField("directory", directory),
          ]))
    }
    return CommandResult(
      lines.isEmpty ? "no conflicts" : lines.joined(separator: "\n"),
      [ReplyField("conflicts", .list(fields))])
  }

  /// Says that a file is shown under another name, since a directory has its own.
  private static func displacedText(_ directory: String, _ path: String) -> String {
    "\(directory) is a file on one side and a directory on the other; the file is shown as \(path): rename one of them"
  }

  /// A conflict for programs.
  private static func record(_ item: OpenConflict, _ sides: ConflictSides) -> [ReplyField] {
    let theirs = sides.dropped.enumerated().map { index, side in
      ReplyValue.record([ReplyField("name", ConflictTexts.name(ofTheirs: index))] + side.fields)
    }
    return ReplyField.path("path", item.path) + [
      ReplyField("hasBase", .flag(item.conflict.base != nil)),
      ReplyField("hasOurs", .flag(item.conflict.ours != nil)),
      ReplyField("kept", sides.kept.map { .record($0.fields) } ?? .null),
      ReplyField("theirs", .list(theirs)),
    ]
  }

  /// So many conflicts are told with who, where and when by a command that is about other things.
  static let conflictsTold = 5

  /// The makers of the sides of the first conflicts at some paths; a path without a conflict is left out.
  func sides(of paths: [[UInt8]]) throws(ControlError) -> [(
    item: OpenConflict, sides: ConflictSides
  )] {
    var told: [(item: OpenConflict, sides: ConflictSides)] = []
    for path in paths.prefix(Self.conflictsTold) {
      guard let item = try openConflicts(below: path).first(where: { $0.path == path }) else {
        continue
      }
      told.append(
        (
          item,
          try translating { () throws(StoreError) in try ConflictSides(item.conflict, in: store) }
        ))
    }
    return told
  }

  /// Conflicts for programs, in the replies of other commands.
  static func field(
    _ told: [(item: OpenConflict, sides: ConflictSides)]
  ) -> ReplyField {
    ReplyField("conflictSides", .list(told.map { .record(record($0.item, $0.sides)) }))
  }
}
