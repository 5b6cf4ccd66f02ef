import Events
package import Grammar
import HistoryTree
package import LLVSCore
import TreeNames
import WorkingTree

extension ControlService {
  /// Makes a version of saved changes, then moves the head.
  func move(
    _ reason: HeadReason, _ context: CommandContext,
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(ControlError) -> CutOutcome {
    try context.check()
    return try translating { () throws(StoreError) in
      try tree.transition(.command, headReason: reason) {
        (transaction, head) throws(StoreError) in
        if context.isCancelled() { throw .cancelled }
        let target = try goOn(transaction, head)
        if context.isCancelled() { throw .cancelled }
        return target
      }
    }
  }

  /// Makes a version of all saved changes, so that the next move is a separate entry in the log of
  /// heads.
  @discardableResult
  func cut(message: String? = nil) throws(ControlError) -> CutOutcome {
    try translating { () throws(StoreError) in try tree.cut(.command, message: message) }
  }

  func commit(_ message: String?) throws(ControlError) -> CommandResult {
    let outcome = try cut(message: message)
    var text = outcome.cut.map { "\($0.name) \(outcome.summary.text)" } ?? "nothing to commit"
    let unsaved = outcome.allUnsaved
    if !unsaved.isEmpty { text += "; not saved yet: \(Self.names(unsaved))" }
    if !outcome.damagedPaths.isEmpty {
      text += "; damaged, in no version: \(Self.names(outcome.damagedPaths))"
    }
    return CommandResult(
      text,
      [
        ReplyField("version", outcome.cut.map { .text($0.name) } ?? .null),
        ReplyField("changed", outcome.summary.changed), ReplyField("new", outcome.summary.new),
        ReplyField("removed", outcome.summary.removed), ReplyField("unsaved", outcome.allUnsaved),
        ReplyField("damaged", outcome.damagedPaths),
      ])
  }

  /// Returns the first few paths, separated by commas.
  package static func names(_ paths: [[UInt8]], atMost limit: Int = 5) -> String {
    let shown = paths.prefix(limit).map { PrintableText.text($0) }
    return shown.joined(separator: ", ") + (paths.count > limit ? " ..." : "")
  }

  // MARK: - Naming versions

  /// Returns the version that a word names; see ``Store/version(meant:)``.
  package func version(_ word: String) throws(ControlError) -> VersionRecord {
    try store.version(meant: word)
  }

  func headRecord() throws(ControlError) -> VersionRecord? {
    try translating { () throws(StoreError) in
      guard let number = try store.state().head else { return nil }
      return try store.version(number)
    }
  }

  /// Returns the name of a line as versions have it; nil for the unnamed line.
  static func branch(_ line: String) -> Branch? {
    line == VersionRecord.unnamedLine ? nil : Branch(rawValue: line)
  }

  /// The author and the machine of versions made here, by the settings.
  var author: Author { settings.maker }

  // MARK: - Lines

  func branch(_ name: String, _ context: CommandContext) throws(ControlError) -> CommandResult {
    try refuseTaken(name)
    try cut()
    let outcome = try move(.branch(name), context) { (transaction, head) throws(StoreError) in
      try self.begin(name, on: head, in: transaction)
    }
    return moved(outcome, "on \(name)")
  }

  func refuseTaken(_ line: String) throws(ControlError) {
    let isTaken = try translating { () throws(StoreError) in
      try store.hasOpenHead(line)
    }
    if isTaken { throw ControlError(.exists, "there is a branch \(line) already") }
    let isTag = try translating { () throws(StoreError) in
      try store.version(tagged: line) != nil
    }
    if isTag { throw ControlError(.exists, "there is a tag \(line)") }
    try refuseVersion(line)
  }

  /// Adds the empty version that begins a line.
  func begin(
    _ line: String, on head: VersionNumber?, in transaction: WriteTransaction
  ) throws(StoreError) -> VersionNumber {
    let record =
      try head.map { (number) throws(StoreError) in try transaction.version(number) } ?? nil
    let map = store.map(record?.map ?? .empty)
    return try transaction.add(
      AuthoredVersion(
        number: try transaction.reserveVersion(), first: head, base: map, map: map,
        line: Self.branch(line), author: author)
    ).number
  }

  func switchTo(
    _ target: String, line: String?, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    let found = try version(target)
    if let line {
      if line != VersionRecord.unnamedLine { try refuseTaken(line) }
    } else {
      let isHead = try translating { () throws(StoreError) in
        try store.headNumbers(ofLine: found.line).contains(found.number)
      }
      guard isHead else {
        throw ControlError(
          .grammar, "\(found.name) is not a head; \"switch \(target) as NAME\" starts a line there")
      }
    }
    let cut = try cut()
    guard cut.unsavedPaths.isEmpty else {
      throw ControlError(.busy, "not saved yet: \(Self.names(cut.unsavedPaths))")
    }
    let outcome = try move(.switched(to: line ?? target), context) {
      (transaction, head) throws(StoreError) in
      guard let line else {
        // The tree is on this line already: the version of the cut above descends from the target.
        if let head, try transaction.version(head)?.line == found.line {
          let graph = transaction.merger.graph
          if try graph.isAncestorOrSelf(found.number, of: head) { return head }
        }
        return found.number
      }
      return try self.begin(line, on: found.number, in: transaction)
    }
    log.add("switch", "\(outcome.head?.name ?? "-") \(line ?? found.line)")
    return moved(outcome, "on \(PrintableText.text(Array((line ?? found.line).utf8)))")
  }

  func moved(_ outcome: CutOutcome, _ what: String) -> CommandResult {
    let name = outcome.head?.name
    return CommandResult(
      "\(name ?? "no version") \(what)",
      [
        ReplyField("version", name.map { .text($0) } ?? .null),
        ReplyField("line", outcome.head?.line ?? VersionRecord.unnamedLine),
        ReplyField("unsaved", outcome.allUnsaved),
      ])
  }
}
