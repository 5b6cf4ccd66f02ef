import Events
import Grammar
import HistoryTree
import LLVSCore
import TreeNames
import WorkingTree

// Names of lines: listed, removed and changed. The versions of a line stay in any case.

extension ControlService {
  /// Lists the lines with their newest versions; a star is before the one that the tree is on.
  func branches() throws(ControlError) -> CommandResult {
    let current = try headRecord()?.line ?? VersionRecord.unnamedLine
    let names = try translating { () throws(StoreError) in try store.lineNames().branches }
    var items: [(name: String, version: VersionRecord)] = []
    for name in names {
      guard let newest = try store.newestHead(ofLine: name) else { continue }
      items.append((name, newest))
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
        ReplyField(
          "branches",
          .list(
            items.map { name, version in
              .record([
                ReplyField("branch", name), ReplyField("version", version.name),
                ReplyField("isCurrent", .flag(name == current)),
              ])
            }))
      ])
  }

  /// Removes the name of a line, here and with the next exchange everywhere. Whoever makes a version
  /// on it in the meantime brings it back.
  func removeBranch(
    _ name: String, isForced: Bool, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
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
    try translating { () throws(StoreError) in
      try store.write { (transaction) throws(StoreError) in
        try transaction.end(Branch(rawValue: name), at: heads, author: author)
      }
    }
    let last = heads.last?.name ?? "-"
    log.add("branch", "\(name) removed, which was at \(last)")
    return CommandResult(
      "the branch \(name) is removed; it was at \(last)",
      [ReplyField("removed", name), ReplyField("version", last)])
  }

  /// Gives a line another name: a version begins the new one, and the old name is removed.
  func renameBranch(
    _ old: String, to new: String, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
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
      [
        ReplyField("branch", new), ReplyField("renamedFrom", old),
        ReplyField("version", outcome.head.map { .text($0.name) } ?? .null),
      ])
  }

  /// The heads of a line at which its name was not removed, oldest first.
  private func openHeads(of name: String) throws(ControlError) -> [VersionRecord] {
    guard name != VersionRecord.unnamedLine else {
      throw ControlError(.grammar, "the unnamed line has no name to remove or change")
    }
    let heads = try translating { () throws(StoreError) -> [VersionRecord] in
      guard !name.hasPrefix("llvs.") else { return [] }
      var records: [VersionRecord] = []
      for node in try store.graph.openHeads(ofLine: Branch(rawValue: name)) {
        if let record = try store.version(node.number) { records.append(record) }
      }
      return records
    }
    guard !heads.isEmpty else { throw ControlError(.notFound, "there is no branch \(name)") }
    return heads
  }

  /// Returns the last version on the way to a head that changed something: `branch` begins a line with
  /// one that does not.
  private func lastChange(at head: VersionRecord) throws(StoreError) -> VersionRecord {
    var record = head
    while record.flags.contains(.changedNothing), record.second == nil, let first = record.first,
      let before = try store.version(first)
    {
      record = before
    }
    return record
  }

  /// Returns the first of some heads that no other line contains; nil if others contain all.
  private func firstHeldNowhere(
    _ heads: [VersionRecord], of name: String
  ) throws(ControlError) -> VersionRecord? {
    try translating { () throws(StoreError) in
      let others = try store.lineNames().branches.filter { $0 != name }
      for head in heads {
        let own = try store.graph.node(lastChange(at: head).number)
        var isHeld = false
        for other in others where !isHeld {
          for node in try store.graph.openHeads(ofLine: Self.branch(other)) where !isHeld {
            isHeld = try store.graph.isContained(own, in: node)
          }
        }
        if !isHeld { return head }
      }
      return nil
    }
  }
}
