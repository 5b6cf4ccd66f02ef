package import Grammar
import Inodes
import LLVSCore
import TreeNames
import WorkingTree

extension ControlService {
  /// The most changes in a list: callers work on each of them.
  package static let pendingLimit = 200_000

  /// The error where there are more.
  package static var tooManyPending: ControlError {
    ControlError(.busy, "more than \(pendingLimit) changes are in no version yet; commit first")
  }

  /// Lists the changes that are in no version yet.
  func pendingPaths() throws(ControlError) -> CommandResult {
    let found = try inTree { () throws(FSError) in
      try tree.pendingPaths(atMost: Self.pendingLimit)
    }
    guard let pending = found else { throw Self.tooManyPending }
    let lines = pending.map { item in
      String(UnicodeScalar(item.change.rawValue)) + " "
        + PrintableText.text(item.path.bytes)
        + (item.isDirectory ? "/" : "")
    }
    return CommandResult(
      lines.isEmpty ? "nothing pending" : lines.joined(separator: "\n"),
      [ReplyField("pending", .list(lines.map { .text($0) }))])
  }
}
