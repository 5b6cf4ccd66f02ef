import Control
import Grammar
import HistoryTree
import LLVSCore
import TreeNames

/// Reads the open conflicts for the page.
/// - Concurrency: any thread.
struct Conflicts: Sendable {
  static let mostListed = 1000
  let history: History
  private var store: Store { history.store }
  init(_ history: History) { self.history = history }

  func list() throws -> ReplyValue {
    let open = try ControlService.openConflicts(in: store)
    let values = try open.prefix(Self.mostListed).map { item -> ReplyValue in
      let sides = try ConflictSides(item.conflict, in: store)
      return [
        "path": ReplyBytes(item.path), "kept": sides.kept?.reply,
        "dropped": ReplyValue.list(sides.dropped.map(\.reply)),
      ]
    }
    return ["conflicts": values, "count": open.count]
  }

  /// - Throws: ``ControlError`` of kind notFound if there is none.
  func find(_ path: [UInt8]) throws(ControlError) -> ValueConflict {
    let open = try ControlService.openConflicts(in: store, below: path)
    guard let found = open.first(where: { $0.path == path }) else {
      throw ControlError(.notFound, "there is no conflict at \(PrintableText.text(path))")
    }
    return found.conflict
  }

  /// A text that changes when a side of a conflict does.
  static func state(_ conflict: ValueConflict) -> String {
    let ours = conflict.ours.map { "\($0.stored.digest.hex.prefix(32))" } ?? "-"
    return ([ours] + conflict.theirs.map { $0.version.id.rawValue }).joined(separator: " ")
  }

  /// Throws unless a conflict has still the state that a user saw.
  func check(_ path: [UInt8], seen: String) throws(ControlError) {
    guard try Self.state(find(path)) == seen else {
      throw ControlError(
        .busy, "the conflict at \(PrintableText.text(path)) has changed; look at it again")
    }
  }

  /// Returns the value of a side: `base`, `ours`, `theirs`, `theirs.2` and so on; nil for a removal.
  func side(_ name: String, of conflict: ValueConflict) throws(ControlError) -> Entry? {
    switch name {
    case "base": return conflict.base
    case "ours": return conflict.ours
    default:
      let index = conflict.theirs.indices.first { ConflictTexts.name(ofTheirs: $0) == name }
      guard let index else { throw ControlError(.notFound, "there is no side \(name)") }
      return conflict.theirs[index].entry
    }
  }

  /// Returns the kept value with a dropped one's lines where both clash, and the number of its other lines that the
  /// dropped one lacks; nil if the two are not merged by line.
  private func mixed(
    _ conflict: ValueConflict, with other: Entry?
  ) throws(StoreError) -> (text: [UInt8], others: Int)? {
    let arbiter = ContentArbiter(.automatic, store.graph, store.contents)
    guard let ours = conflict.ours, let other,
      let text = try arbiter.settling(conflict.key, base: conflict.base, kept: ours, with: other)
    else { return nil }
    let dropped = try store.contents.bytes(
      other.stored, atMost: UInt64(TextMerge.maximumLength))
    return (text, TextDiff.count(from: dropped, to: text))
  }

  /// Returns the sides of a conflict, and the kept value's difference from itself with a dropped one's lines where
  /// both clash.
  func sides(_ path: [UInt8], against name: String) throws -> ReplyValue {
    let conflict = try find(path)
    let makers = try ConflictSides(conflict, in: store)
    func record(_ name: String, _ maker: ConflictSide?, _ entry: Entry?) throws -> ReplyValue {
      let side: ReplyValue = [
        "name": name, "version": maker?.version, "author": maker?.author.name,
        "machine": maker?.author.machine, "time": maker.map { TimestampText.iso($0.time) },
        "isThere": entry != nil,
      ]
      return try entry.map { side + (try history.content($0, path)) } ?? side
    }
    var values = [
      try record("base", nil, conflict.base), try record("ours", makers.kept, conflict.ours),
    ]
    for (index, revision) in conflict.theirs.enumerated() {
      values.append(
        try record(
          ConflictTexts.name(ofTheirs: index),
          makers.dropped.indices.contains(index) ? makers.dropped[index] : nil, revision.entry))
    }
    let other = try side(name, of: conflict)
    let isText = try ConflictTexts(conflict, in: store)?.marked != nil
    let mixed = try mixed(conflict, with: other)
    let difference = try history.difference(
      from: conflict.ours, to: other, path: path, isWhole: true, showing: mixed?.text)
    return [
      "path": ReplyBytes(path), "seen": Self.state(conflict), "sides": values, "against": name,
      "isText": isText, "difference": difference, "others": mixed?.others ?? 0,
    ]
  }
}
