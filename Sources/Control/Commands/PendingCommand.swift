import Grammar
import Inodes
import TreeNames
package import WorkingTree

/// Lists the changes that are in no version yet.
struct PendingCommand: Command {
  static let forms = [CommandForm("pending")]
  var effect: CommandEffect { .query }
  init(_ arguments: inout Arguments) {}

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let lines = try service.tree.somePending().map { item in
      String(UnicodeScalar(item.change.rawValue)) + " " + PrintableText.text(item.path.bytes)
        + (item.isDirectory ? "/" : "")
    }
    return CommandResult(
      lines.isEmpty ? "nothing pending" : lines.joined(separator: "\n"), ["pending": lines])
  }
}

extension TreeSession {
  /// The most changes in a list: callers process each of them.
  private static let pendingLimit = 200_000

  /// - Throws: ``ControlError`` of kind busy if there are too many.
  package func somePending() throws -> [PendingPath] {
    guard let pending = try pendingPaths(atMost: Self.pendingLimit) else {
      throw ControlError(
        .busy, "more than \(Self.pendingLimit) changes are in no version yet; commit first")
    }
    return pending
  }
}
