import Grammar
package import LLVSCore
package import WorkingTree

// Undo and redo over the log of heads.
//
// Each entry of the log is a position. Undo and redo add entries that say which position they lead back
// to ("undo 12", "redo 14"), so where one stands follows from the newest entry, and what redo leads to
// from the entries since the last ordinary one.

/// Finds what undo and redo lead to.
package struct HeadHistory {
  private let store: Store
  /// Told of entries that are not what was written, and are passed over.
  private let damage: DamageReport

  package init(of tree: LiveTree) {
    store = tree.store
    damage = tree.damage
  }

  private func entry(newestBefore sequence: Int64) throws(StoreError) -> HeadLogEntry? {
    try store.headLog(before: sequence, limit: 1) { damage.tell($0) }.first
  }

  package struct Step {
    /// The entry whose change is taken back or made again.
    var change: HeadLogEntry
    /// The entry whose head is the outcome.
    package var target: HeadLogEntry

    /// Whether the tree was carried to another line, and so is carried back.
    package var isMove: Bool {
      change.reason.hasPrefix("switch ") || change.reason.hasPrefix("branch ")
    }
  }

  /// What undo does; nil where nothing came before.
  package func undo() throws(StoreError) -> Step? {
    guard let newest = try entry(newestBefore: .max) else { return nil }
    var change = try position(of: newest)
    var before = change.sequence
    while let entry = try entry(newestBefore: before) {
      let target = try position(of: entry)
      if target.version != change.version, target.version != nil {
        let step = Step(change: change, target: target)
        if step.isMove { return step }
        if try content(of: target) != content(of: change) { return step }
        // Nothing was seen of that change, as of settling or of what another store did and undid: one
        // further, else undo would stand still here for good.
        change = target
      }
      before = min(entry.sequence, target.sequence)
    }
    return nil
  }

  /// What redo does; nil where nothing was undone since the last change.
  package func redo() throws(StoreError) -> Step? {
    var steps: [HeadLogEntry] = []
    var before = Int64.max
    var cursor: Int64?
    while cursor == nil, let entry = try entry(newestBefore: before) {
      if Self.target(of: entry) == nil { cursor = entry.sequence } else { steps.append(entry) }
      before = entry.sequence
    }
    guard var position = cursor else { return nil }
    var undone: [Int64] = []
    for step in steps.reversed() {
      guard let target = Self.target(of: step) else { continue }
      if step.reason.hasPrefix("undo ") { undone.append(position) } else { _ = undone.popLast() }
      position = target
    }
    guard let last = undone.last, let entry = try entry(last) else { return nil }
    return Step(change: entry, target: entry)
  }

  /// The ordinary entry that an entry stands for.
  private func position(of entry: HeadLogEntry) throws(StoreError) -> HeadLogEntry {
    var entry = entry
    while let target = Self.target(of: entry), target < entry.sequence {
      guard let next = try self.entry(target) else { return entry }
      entry = next
    }
    return entry
  }

  /// What a head held; nil for none.
  private func content(of entry: HeadLogEntry) throws(StoreError) -> Digest? {
    guard let number = entry.version else { return nil }
    return try store.version(number)?.map.digest
  }

  private func entry(_ sequence: Int64) throws(StoreError) -> HeadLogEntry? {
    guard sequence < .max else { return nil }
    return try entry(newestBefore: sequence + 1)
      .flatMap { $0.sequence == sequence ? $0 : nil }
  }

  private static func target(of entry: HeadLogEntry) -> Int64? {
    let words = entry.reason.split(separator: " ")
    guard words.count == 2, words[0] == "undo" || words[0] == "redo" else { return nil }
    return Int64(words[1])
  }
}
