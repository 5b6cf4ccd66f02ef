import Grammar
import HistoryTree
import LLVSCore
import WorkingTree

/// Goes back by one change of the head, or repeats the change that undo took back.
struct UndoCommand: Command {
  static let forms = [
    CommandForm(
      "undo",
      help: """
        Takes back the last change: a version, a merge, a restore or a switch.
        It makes a new version with the content from before; the next undo goes back one more, "llvs redo" steps forward again.
        """),
    CommandForm("redo", help: "Makes the change again that undo took back."),
  ]

  var isRedo = false
  var title: String { isRedo ? "redo" : "undo" }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    try service.cut()
    let history = HeadHistory(service.tree.store, service.tree.damage)
    guard let step = isRedo ? try history.redo() : try history.undo() else {
      let head = isRedo ? nil : try service.headRecord()
      throw ControlError(
        .notFound,
        head.map { $0.first == nil } == true
          ? "this is the first version; there is nothing before it" : "there is nothing to \(title)"
      )
    }
    let sequence = step.target.sequence
    let reason: HeadReason = isRedo ? .redo(to: sequence) : .undo(to: sequence)
    guard let number = step.target.version, let target = try service.store.version(number) else {
      throw StoreError.corrupt("the log of heads names a version that is not there")
    }
    guard step.isMove else {
      return try service.restore(
        target, reason: reason, message: "\(reason.verb): back to \(target.name)",
        withConflicts: true, context)
    }
    let destination = try place(of: target, in: service.store)
    let outcome = try service.move(reason, context) { (_, _) throws(StoreError) in
      destination.number
    }
    return service.moved(outcome, "on \(destination.line)")
  }

  /// Returns `target`, or the head of its line that descends from it.
  private func place(of target: VersionRecord, in store: Store) throws -> VersionRecord {
    let heads = try store.graph.uncontainedHeads(ofLine: ControlService.branch(target.line))
    let newest = try heads.filter {
      try store.graph.isAncestorOrSelf(target.number, of: $0.number)
    }.max(by: HistoryNode.isOlder)
    return try newest.flatMap { try store.version($0.number) } ?? target
  }
}

extension UndoCommand {
  init(_ arguments: inout Arguments) { isRedo = arguments.name == "redo" }
}
