package import Events
package import LLVSCore

// Undo and redo over the log of heads. Undo and redo add entries that name the position that they return to, so the
// newest entry gives the current position, and the entries since the last ordinary one give the target of redo.

package struct HeadHistory {
  private let store: Store
  /// Receives damaged entries, which are skipped.
  private let damage: DamageReport

  package init(_ store: Store, _ damage: DamageReport) {
    self.store = store
    self.damage = damage
  }

  private func entry(newestBefore sequence: Int64) throws(StoreError) -> HeadLogEntry? {
    try store.headLog(before: sequence, limit: 1) { damage.tell($0) }.first
  }

  package struct Step {
    /// The entry whose change is undone or redone.
    package var change: HeadLogEntry
    /// The entry whose head is the outcome.
    package var target: HeadLogEntry

    /// True if the change switched the tree to another line.
    package var isMove: Bool { change.reason.isMove }
  }

  /// Finds the step of undo; nil if there is no earlier position.
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
        if try hasSettled(change, since: target) { return step }
        // The change had no visible effect, for example because another store made and undid it: go one further.
        change = target
      }
      before = min(entry.sequence, target.sequence)
    }
    return nil
  }

  /// Finds the step of redo; nil if nothing was undone since the last change.
  package func redo() throws(StoreError) -> Step? {
    var steps: [HeadLogEntry] = []
    var before = Int64.max
    var cursor: Int64?
    while cursor == nil, let entry = try entry(newestBefore: before) {
      if entry.reason.target == nil { cursor = entry.sequence } else { steps.append(entry) }
      before = entry.sequence
    }
    guard var position = cursor else { return nil }
    var undone: [Int64] = []
    for step in steps.reversed() {
      switch step.reason {
      case .undo(let target):
        undone.append(position)
        position = target
      case .redo(let target):
        _ = undone.popLast()
        position = target
      default: continue
      }
    }
    guard let last = undone.last, let entry = try entry(last) else { return nil }
    return Step(change: entry, target: entry)
  }

  /// Returns the ordinary entry that an entry of undo or redo returns to.
  private func position(of entry: HeadLogEntry) throws(StoreError) -> HeadLogEntry {
    var entry = entry
    while let target = entry.reason.target, target < entry.sequence {
      guard let next = try self.entry(target) else { return entry }
      entry = next
    }
    return entry
  }

  /// True if conflicts were closed or reopened between two heads.
  private func hasSettled(
    _ change: HeadLogEntry, since target: HeadLogEntry
  ) throws(StoreError) -> Bool {
    guard let new = change.version, let old = target.version,
      try store.graph.isAncestorOrSelf(old, of: new)
    else { return false }
    if try !store.settledDrops(at: new, since: old).isEmpty { return true }
    return try !store.settledDrops(at: old, since: new).isEmpty
  }

  private func content(of entry: HeadLogEntry) throws(StoreError) -> Digest? {
    guard let number = entry.version else { return nil }
    return try store.version(number)?.map.digest
  }

  private func entry(_ sequence: Int64) throws(StoreError) -> HeadLogEntry? {
    guard sequence < .max else { return nil }
    return try entry(newestBefore: sequence + 1)
      .flatMap { $0.sequence == sequence ? $0 : nil }
  }
}
