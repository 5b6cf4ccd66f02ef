import Events
import Grammar
import HistoryTree
import LLVSCore
import TreeNames
import WorkingTree

/// Begins a named line, and lists, removes and changes the names of lines; their versions stay.
struct BranchCommand: Command {
  static let forms = [
    CommandForm(
      "branch", "[NAME | --delete NAME [--force] | --rename NAME NEW]", .branches,
      options: [
        VerbOption("d", "delete", help: "remove the name"),
        VerbOption("m", "rename", help: "give the branch another name"),
      ],
      help: """
        Starts a branch: a named line of versions. Without a name it lists the branches.
        With -d it removes a name; the versions stay. A branch whose versions no other branch holds is removed with
        --force alone. With -m it gives a branch another name. Peers do the same at the next exchange.
        """)
  ]

  enum Request: Hashable {
    case list
    case begin(String)
    /// If `isForced`, even if no other line has its versions.
    case remove(String, isForced: Bool)
    case rename(String, to: String)
  }

  var request = Request.list

  var title: String {
    switch request {
    case .list: "branch"
    case .begin(let name): "branch \(name)"
    case .remove(let name, _): "branch --delete \(name)"
    case .rename(let old, let new): "branch --rename \(old) \(new)"
    }
  }

  var effect: CommandEffect { request == .list ? .query : .version }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    switch request {
    case .list: try service.branches()
    case .begin(let name): try service.branch(name, context)
    case .remove(let name, let isForced): try service.removeBranch(name, isForced: isForced)
    case .rename(let old, let new): try service.renameBranch(old, to: new, context)
    }
  }
}

extension BranchCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    switch try arguments.change() {
    case .delete(let name, let isForced): request = .remove(name, isForced: isForced)
    case .rename(let old, let new): request = .rename(old, to: try StoreName.checked(branch: new))
    case nil:
      if let name = try arguments.textIfAny() {
        request = .begin(try StoreName.checked(branch: name))
      }
    }
  }
}

extension ControlService {
  fileprivate func branch(_ name: String, _ context: CommandContext) throws -> CommandResult {
    try refuseTaken(name)
    try cut()
    let outcome = try move(.branch(name), context) { (transaction, head) throws(StoreError) in
      try self.begin(name, on: head, in: transaction)
    }
    return moved(outcome, "on \(name)")
  }

  /// Lists the lines with their newest versions; a star marks the tree's line.
  fileprivate func branches() throws -> CommandResult {
    let current = try headRecord()?.line ?? VersionRecord.unnamedLine
    var items: [(name: String, version: VersionRecord)] = []
    for name in try store.lineNames().branches {
      if let newest = try store.newestHead(ofLine: name) { items.append((name, newest)) }
    }
    let shown = items.map { PrintableText.text(Array($0.name.utf8)) }
    let width = min(shown.map(\.count).max() ?? 0, 32)
    let lines = zip(items, shown).map { item, name in
      let gap = String(repeating: " ", count: max(0, width - name.count))
      let note = item.name == VersionRecord.unnamedLine ? "  (the unnamed line)" : ""
      return "\(item.name == current ? "*" : " ") \(name)\(gap)  \(item.version.name)\(note)"
    }
    return CommandResult(
      lines.isEmpty ? "no branches" : lines.joined(separator: "\n"),
      [
        "branches": ReplyValue.list(
          items.map { name, version in
            ["branch": name, "version": version.name, "isCurrent": name == current]
          })
      ])
  }

  /// Removes the name of a line, here and with the next exchange everywhere; a later version restores it.
  fileprivate func removeBranch(_ name: String, isForced: Bool) throws -> CommandResult {
    let heads = try openHeads(of: name)
    guard try headRecord()?.line != name else {
      throw ControlError(
        .busy, "the tree is on \(name); \"switch\" to another branch first")
    }
    let lost = isForced ? nil : try firstHeldNowhere(heads, of: name)
    if let lost {
      throw ControlError(
        .busy,
        "no other branch holds \(lost.name) of \(name): merge it, or remove the name all the same "
          + "with \"branch --delete \(name) --force\"; its versions stay")
    }
    try store.write { (transaction) throws(StoreError) in
      try transaction.end(Branch(rawValue: name), at: heads, author: author)
    }
    let last = heads.last?.name ?? "-"
    log.add("branch", "\(name) removed, which was at \(last)")
    return CommandResult(
      "the branch \(name) is removed; it was at \(last)",
      ["removed": name, "version": last])
  }

  fileprivate func renameBranch(
    _ old: String, to new: String, _ context: CommandContext
  ) throws -> CommandResult {
    _ = try openHeads(of: old)
    try refuseTaken(new)
    try cut()
    let heads = try openHeads(of: old)
    guard heads.count == 1, let last = heads.first else {
      throw ControlError(
        .busy, "\(old) has \(heads.count) heads; merge them first: \"switch \(old)\", \"merge\"")
    }
    let isCurrent = try headRecord()?.line == old
    let outcome = try move(.branch(new), context) {
      (transaction, head) throws(StoreError) in
      let begun = try self.begin(new, on: last.number, in: transaction)
      try transaction.end(Branch(rawValue: old), at: [last], author: self.author)
      return isCurrent ? begun : head
    }
    log.add("branch", "\(new) renamed from \(old)")
    return CommandResult(
      "the branch \(old) is called \(new) now",
      ["branch": new, "renamedFrom": old, "version": outcome.head?.name])
  }

  private func openHeads(of name: String) throws -> [VersionRecord] {
    guard name != VersionRecord.unnamedLine else {
      throw ControlError(.grammar, "the unnamed line has no name to remove or change")
    }
    let nodes =
      name.hasPrefix("llvs.") ? [] : try store.graph.openHeads(ofLine: Branch(rawValue: name))
    let heads = try nodes.compactMap { try store.version($0.number) }
    guard !heads.isEmpty else { throw ControlError(.notFound, "there is no branch \(name)") }
    return heads
  }

  /// Returns the last version up to a head that changed something, because `branch` begins a line with an empty
  /// version.
  private func lastChange(at head: VersionRecord) throws -> VersionRecord {
    var record = head
    while record.flags.contains(.changedNothing), record.second == nil, let first = record.first,
      let before = try store.version(first)
    {
      record = before
    }
    return record
  }

  /// Returns the first head that no other line contains; nil if others contain all.
  private func firstHeldNowhere(
    _ heads: [VersionRecord], of name: String
  ) throws -> VersionRecord? {
    let others = try store.lineNames().branches.filter { $0 != name }
    return try heads.first { head in
      let own = try store.graph.node(lastChange(at: head).number)
      return try !others.contains { other in
        try store.graph.openHeads(ofLine: Self.branch(other)).contains {
          try store.graph.isContained(own, in: $0)
        }
      }
    }
  }
}
