import Events
import Grammar
import LLVSCore
import TreeNames
import WorkingTree

/// Shows another version in the tree; later versions continue it.
struct SwitchCommand: Command {
  static let forms = [
    CommandForm(
      "switch", "VERSION|BRANCH|- [as NAME]", .lines,
      help: """
        Shows another branch or version in the tree, and goes on from there.
        A version that is not the newest of a branch needs "as NAME", the name of a new branch; - is the unnamed line.
        """)
  ]

  /// A version, a branch, or `-` for the unnamed line.
  let target: String
  /// The line that begins there; nil to continue the target's.
  let line: String?
  var title: String { "switch \(target)" + (line.map { " as \($0)" } ?? "") }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let found = try service.version(target)
    if let line {
      if line != VersionRecord.unnamedLine { try service.refuseTaken(line) }
    } else {
      guard try service.store.headNumbers(ofLine: found.line).contains(found.number) else {
        throw ControlError(
          .grammar, "\(found.name) is not a head; \"switch \(target) as NAME\" starts a line there")
      }
    }
    let cut = try service.cut()
    guard cut.unsavedPaths.isEmpty else {
      throw ControlError(.busy, "not saved yet: \(ControlService.names(cut.unsavedPaths))")
    }
    let outcome = try service.move(.switched(to: line ?? target), context) {
      (transaction, head) throws(StoreError) in
      try service.requireBytes(of: found)
      guard let line else {
        // The tree is on this line already: the version of the cut above descends from the target.
        if let head, try transaction.version(head)?.line == found.line {
          let graph = transaction.merger.graph
          if try graph.isAncestorOrSelf(found.number, of: head) { return head }
        }
        return found.number
      }
      return try service.begin(line, on: found.number, in: transaction)
    }
    service.log.add("switch", "\(outcome.head?.name ?? "-") \(line ?? found.line)")
    return service.moved(outcome, "on \(PrintableText.text(Array((line ?? found.line).utf8)))")
  }
}

extension SwitchCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    target = try arguments.text("a version or a branch")
    guard let word = try arguments.textIfAny() else {
      line = nil
      return
    }
    guard word == "as" else { throw arguments.misused("\"\(word)\" where \"as\" should be") }
    let name = try arguments.text("a name")
    line = name == "-" ? name : try StoreName.checked(branch: name)
  }
}
