package import Grammar
import HistoryTree
import Inodes
package import LLVSCore
import TreeNames
import WorkingTree

extension ControlService {
  /// Makes a version of saved changes, then moves the head. What the head loses at and below the paths `kept` stays
  /// in the tree.
  func move(
    _ reason: HeadReason, _ context: CommandContext, keeping kept: [TreePath] = [],
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(ControlError) -> CutOutcome {
    try context.check()
    return try translating {
      try tree.transition(.command, headReason: reason, keeping: kept) {
        (transaction, head) throws(StoreError) in
        if context.isCancelled() { throw .cancelled }
        let target = try goOn(transaction, head)
        if context.isCancelled() { throw .cancelled }
        return target
      }
    }
  }

  /// Makes a version of all saved changes, so that the next move is a separate entry in the log of heads.
  @discardableResult
  func cut(message: String? = nil) throws(ControlError) -> CutOutcome {
    try translating { try tree.cut(.command, message: message) }
  }

  /// Returns the first few paths, separated by commas.
  package static func names(_ paths: [[UInt8]], atMost limit: Int = 5) -> String {
    let shown = paths.prefix(limit).map { PrintableText.text($0) }
    return shown.joined(separator: ", ") + (paths.count > limit ? " ..." : "")
  }

  package func version(_ word: String) throws(ControlError) -> VersionRecord {
    try store.version(meant: word)
  }

  func peer(_ name: String) throws(ControlError) -> Peer {
    guard let peer = try allPeers().first(where: { $0.name == name }) else {
      throw ControlError(.notFound, "there is no peer \(name)")
    }
    return peer
  }

  func headRecord() throws(ControlError) -> VersionRecord? {
    try translating { try store.headRecord() }
  }

  /// Returns the name of a line in versions' form; nil for the unnamed line.
  static func branch(_ line: String) -> Branch? {
    line == VersionRecord.unnamedLine ? nil : Branch(rawValue: line)
  }

  var author: Author { settings.maker }

  func refuseTaken(_ line: String) throws {
    if try store.hasOpenHead(line) {
      throw ControlError(.exists, "there is a branch \(line) already")
    }
    if try store.version(tagged: line) != nil {
      throw ControlError(.exists, "there is a tag \(line)")
    }
    try refuseVersion(line)
  }

  func begin(
    _ line: String, on head: VersionNumber?, in transaction: WriteTransaction
  ) throws(StoreError) -> VersionNumber {
    let map = store.map(of: try transaction.version(head))
    return try transaction.add(
      AuthoredVersion(
        number: try transaction.reserveVersion(), first: head, base: map, map: map,
        line: Self.branch(line), author: author)
    ).number
  }

  func moved(_ outcome: CutOutcome, _ what: String) -> CommandResult {
    let name = outcome.head?.name
    return CommandResult(
      "\(name ?? "no version") \(what)",
      [
        "version": name, "line": outcome.head?.line ?? VersionRecord.unnamedLine,
        "unsaved": outcome.allUnsaved,
      ])
  }
}
