import Foundation
import LLVSCore

/// Says behind what a verb did that conflicts are open, so that nobody overlooks them.
enum ConflictNotice {
  /// Verbs that look at a store or change it, and do not tell of its conflicts themselves.
  private static let verbs: Set<String> = [
    "commit", "sync", "retrieve", "send", "exchange", "merge", "restore", "revert", "undo", "redo",
    "branch", "switch", "tag", "log", "diff", "show", "history", "import", "peer",
  ]

  /// Tells on standard error; nothing where the output is for programs or nobody wants words.
  static func tell(_ line: CommandLine, _ console: Console) {
    guard verbs.contains(line.verb), !line.isJSON, !line.isQuiet, let count = count(line), count > 0
    else { return }
    console.complain(
      "llvs: \(count) conflict\(count == 1 ? " is" : "s are") open; \"llvs conflicts\" tells whose, "
        + "\"llvs help settle\" how to close \(count == 1 ? "it" : "them").")
  }

  /// The number of open conflicts; nil if it cannot be known, which is no failure of the command.
  private static func count(_ line: CommandLine) -> Int? {
    guard let target = try? CommandTarget(line) else { return nil }
    switch target {
    case .mounted(let tree, _):
      guard let json = try? CommandTarget.status(of: tree.root),
        let fields = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
      else { return nil }
      return fields["conflicts"] as? Int
    case .store:
      guard let store = try? target.reader(), let head = try? store.state().head else { return nil }
      return (try? store.openConflictKeys(at: head))?.count
    }
  }
}
