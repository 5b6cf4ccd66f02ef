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
    if name == "base" { return conflict.base }
    if name == "ours" { return conflict.ours }
    let index = conflict.theirs.indices.first { ConflictTexts.name(ofTheirs: $0) == name }
    guard let index else { throw ControlError(.notFound, "there is no side \(name)") }
    return conflict.theirs[index].entry
  }

  /// Returns the kept value with a dropped one's lines where both clash, and the numbers of its other lines that the
  /// dropped one and the file of the kept side's maker lack; nil if the two are not merged by line.
  private func mixed(
    _ conflict: ValueConflict, with other: Entry?, keptBy maker: ConflictSide?
  ) throws -> (text: [UInt8], kept: Int, dropped: Int)? {
    let arbiter = ContentArbiter(.automatic, store.graph, store.contents)
    guard let ours = conflict.ours, let other,
      let text = try arbiter.settling(conflict.key, base: conflict.base, kept: ours, with: other)
    else { return nil }
    func bytes(_ entry: Entry) throws -> [UInt8] {
      try history.bytes(entry, from: 0, count: TextMerge.maximumLength)
    }
    let made = try maker.flatMap {
      try store.map(of: store.version(meant: $0.version)).entry(at: conflict.key)
    }
    let dropped = try made.map { try TextDiff.count(from: bytes($0), to: bytes(ours)) }
    return (text, TextDiff.count(from: try bytes(other), to: text), dropped ?? 0)
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
    for (index, maker) in makers.dropped.enumerated() {
      let entry = conflict.theirs[index].entry
      values.append(try record(ConflictTexts.name(ofTheirs: index), maker, entry))
    }
    let other = try side(name, of: conflict)
    let isText = try ConflictTexts(conflict, in: store)?.marked != nil
    let mixed = try mixed(conflict, with: other, keptBy: makers.kept)
    let difference = try history.difference(
      from: conflict.ours, to: other, path: path, isWhole: true, showing: mixed?.text)
    return [
      "path": ReplyBytes(path), "seen": Self.state(conflict), "sides": values, "against": name,
      "isText": isText, "difference": difference, "others": mixed?.kept ?? 0,
      "theirOthers": mixed?.dropped ?? 0,
    ]
  }
}
