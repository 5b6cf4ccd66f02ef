import Grammar
import HistoryTree
import LLVSCore

extension ControlService {
  func undo(_ context: CommandContext) throws(ControlError) -> CommandResult {
    try cut()
    let step = try translating { () throws(StoreError) in try HeadHistory(of: tree).undo() }
    guard let step else { throw ControlError(.notFound, "there is nothing to undo") }
    return try go(step, .undo(to: step.target.sequence), context)
  }

  func redo(_ context: CommandContext) throws(ControlError) -> CommandResult {
    try cut()
    let step = try translating { () throws(StoreError) in try HeadHistory(of: tree).redo() }
    guard let step else { throw ControlError(.notFound, "there is nothing to redo") }
    return try go(step, .redo(to: step.target.sequence), context)
  }

  private func go(
    _ step: HeadHistory.Step, _ reason: HeadReason, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    let target = try translating { () throws(StoreError) -> VersionRecord in
      guard let number = step.target.version, let record = try store.version(number) else {
        throw .corrupt("the log of heads names a version that is not there")
      }
      return record
    }
    guard step.isMove else {
      return try restore(
        target, reason: reason, message: "\(reason.verb): back to \(target.name)",
        withConflicts: true, context)
    }
    let destination = try place(of: target)
    let outcome = try move(reason, context) { (_, _) throws(StoreError) in destination.number }
    return moved(outcome, "on \(destination.line)")
  }

  /// Returns the version from which a tree that was on `target` continues: `target`, or the head of
  /// its line that descends from it.
  private func place(of target: VersionRecord) throws(ControlError) -> VersionRecord {
    try translating { () throws(StoreError) in
      let heads = try store.graph.uncontainedHeads(ofLine: Self.branch(target.line))
      var place: HistoryNode?
      for head in heads where try store.graph.isAncestorOrSelf(target.number, of: head.number) {
        if place.map({ HistoryNode.isOlder($0, head) }) ?? true { place = head }
      }
      guard let place else { return target }
      return try store.version(place.number) ?? target
    }
  }
}
