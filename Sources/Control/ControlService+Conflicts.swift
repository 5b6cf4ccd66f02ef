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
      var names: [String] = []
      var theirs: [ReplyValue] = []
      if item.conflict.base != nil { names.append("base") }
      names.append(item.conflict.ours == nil ? "ours (removed)" : "ours")
      for (index, revision) in item.conflict.theirs.enumerated() {
        let name = ConflictTexts.name(ofTheirs: index)
        names.append(revision.entry == nil ? "\(name) (removed)" : name)
        let record = try translating { () throws(StoreError) in
          try store.version(revision.version.number)
        }
        theirs.append(
          .record([
            ReplyField("name", name), ReplyField("version", record?.name ?? ""),
            ReplyField("isRemoval", .flag(revision.entry == nil)),
          ]))
      }
      let path = String(decoding: item.path, as: UTF8.self)
      var record = ReplyField.path("path", item.path)
      record += [
        ReplyField("hasBase", .flag(item.conflict.base != nil)),
        ReplyField("hasOurs", .flag(item.conflict.ours != nil)),
        ReplyField("theirs", .list(theirs)),
      ]
      if let directory = directories[item.conflict.key] {
        names.append("the file \(directory), whose name a directory has")
        record.append(ReplyField("directory", directory))
      }
      lines.append("\(path): \(names.joined(separator: ", "))")
      fields.append(.record(record))
    }
    let clashed = Set(open.map(\.conflict.key))
    for value in displaced where !clashed.contains(value.entry.key) {
      let path = String(decoding: value.path, as: UTF8.self)
      let directory = String(decoding: value.directory, as: UTF8.self)
      lines.append("\(path): the file \(directory), whose name a directory has")
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

}
