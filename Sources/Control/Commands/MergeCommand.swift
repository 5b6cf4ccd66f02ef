import Events
import Grammar
import HistoryTree
import LLVSCore
import TreeNames
import WorkingTree

/// Merges heads into the working tree.
struct MergeCommand: Command {
  static let forms = [
    CommandForm(
      "merge", "[VERSION|BRANCH|all] [using ARBITER] [unrelated] [--dry-run]", .merges,
      options: [.failing],
      help: """
        Merges other heads: all of this branch, or those named.
        ARBITER decides where both sides changed a file: text and json take from both what does not clash,
        and where it does the newer side's; union keeps the lines of both; most-recent-change,
        most-recent-branch and keep-both take the newer file whole; ours or theirs takes one side's; exec
        COMMAND runs a program. What is dropped is listed by "llvs conflicts".
        """)
  ]

  enum Target: Hashable {
    case heads
    case all
    case named(String)
  }

  var target = Target.heads
  /// Nil for the arbiter in the settings.
  var arbiter: ArbiterChoice?
  /// True if histories without a common ancestor may be merged.
  var isUnrelated = false
  var isDryRun = false

  var title: String {
    switch target {
    case .heads: "merge"
    case .all: "merge all"
    case .named(let name): "merge \(name)"
    }
  }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    try service.merge(self, context)
  }
}

extension MergeCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    while let word = try arguments.textIfAny() {
      switch word {
      case "using":
        guard arbiter == nil else { throw arguments.misused("two arbiters") }
        let name = try arguments.text("an arbiter")
        let command = name == "exec" ? " " + (try arguments.text("a command")) : ""
        arbiter = try ArbiterChoice(name + command)
      case "unrelated": isUnrelated = true
      case "--dry-run": isDryRun = true
      default:
        guard target == .heads else {
          throw arguments.misused("\"\(word)\" is one target too many")
        }
        target = word == "all" ? .all : .named(word)
      }
    }
    if isUnrelated, target == .heads { throw arguments.misused("unrelated needs a version") }
  }
}

struct MergeSummary {
  var heads = 0
  /// The values whose content the merge changed in the working tree.
  var values = 0
  private(set) var clashes: [[UInt8]] = []
  private var clashed: Set<[UInt8]> = []
  /// The user chose a side, so no clash remains to be settled.
  var isSettled = false
  /// The own paths of values that a directory of the other side now displaces; no arbiter settles these.
  private(set) var displaced: [[UInt8]] = []
  var trials = ArbiterTrials()
  /// The paths at which the newer change was taken, because bytes are forgotten.
  var missed: [[UInt8]] = []
  /// The makers, machines and times of the sides of the first conflicts, by path.
  var sides: [[UInt8]: String] = [:]
  /// Clauses about renamed directories whose rename the other side did not follow.
  var notFollowed: [String] = []

  mutating func add(clashes keys: [Key]) {
    for key in keys {
      let path = TreeView.ownPath(key)
      if clashed.insert(path).inserted { clashes.append(path) }
    }
  }

  mutating func add(displaced keys: [Key]) {
    for key in keys {
      let path = TreeView.ownPath(key)
      if isSettled || clashed.insert(path).inserted { displaced.append(path) }
    }
  }

  /// The paths that need a user's decision.
  var conflicts: [[UInt8]] { isSettled ? displaced : clashes + displaced }
  /// The clashes that the user's choice of a side settled.
  var settled: [[UInt8]] { isSettled ? clashes : [] }

  var text: String { text { ": " + names($0).joined(separator: ", ") } }

  /// The same with a line for each conflict.
  var lines: [String] { [text { _ in "" }] + names(conflicts).map { "conflict: \($0)" } }

  private func text(_ list: ([[UInt8]]) -> String) -> String {
    func count(_ number: Int, _ word: String) -> String {
      PrintableText.count(number, word, word == "clash settled" ? "clashes settled" : nil)
    }
    var text = count(heads, "head") + (values > 0 ? ", \(count(values, "change"))" : "")
    for (paths, word) in [(settled, "clash settled"), (conflicts, "conflict")] where !paths.isEmpty
    {
      text += ", \(count(paths.count, word))\(list(paths))"
    }
    return ([text] + notFollowed + [trials.text, missedText].compactMap(\.self))
      .joined(separator: "; ")
  }

  private var missedText: String? {
    guard !missed.isEmpty else { return nil }
    return
      "the newer change of \(ControlService.names(missed)) is taken, because bytes that the merge needs are "
      + "forgotten here and no peer has them"
  }

  private func names(_ paths: [[UInt8]]) -> [String] {
    let shown = paths.prefix(ControlService.conflictsTold).map { path in
      PrintableText.text(path) + (sides[path].map { " (\($0))" } ?? "")
    }
    return shown + (paths.count > shown.count ? ["..."] : [])
  }
}

struct MergeOutcome {
  enum Result {
    case merged(String, lines: [String])
    /// The tree shows another version unchanged.
    case moved(String)
    case nothing
    /// No version is made before peers have the bytes that the merge needs, or a day has passed.
    case waiting(String)
  }

  let result: Result
  let reply: ReplyValue

  var asCommandResult: CommandResult {
    switch result {
    case .merged(let text, _): CommandResult(text, reply)
    case .moved(let name): CommandResult("now at \(name)", reply)
    case .nothing: CommandResult("nothing to merge", reply)
    case .waiting(let text): CommandResult(text, reply)
    }
  }

  static func waiting(_ text: String) -> MergeOutcome {
    let none = ReplyValue.list([])
    return MergeOutcome(
      result: .waiting(text),
      reply: [
        "version": ReplyValue.null, "heads": 0, "values": 0, "conflicts": none,
        "conflictSides": none,
        "settled": none, "arbiterFailures": none, "unsaved": none, "waits": text,
      ])
  }
}

extension ControlService {
  fileprivate func merge(_ merge: MergeCommand, _ context: CommandContext) throws -> CommandResult {
    var arbitration = standardArbitration(context)
    if let choice = merge.arbiter {
      arbitration.arbiter = ChosenArbiter.plain(
        choice, store, arbitration.trials, lacked: arbitration.lacked,
        isCancelled: context.isCancelled)
    }
    var others: [VersionRecord]?
    if case .named(let word) = merge.target {
      do {
        others = try named(word)
      } catch let error as ControlError where error.kind == .notFound && !merge.isDryRun {
        guard let id = try takeStranger(word, isWelcome: merge.isUnrelated, context) else {
          throw error
        }
        others = try named(id.rawValue)
      }
    }
    if merge.isDryRun { return try dryRun(merge, others, arbitration) }
    try cut()
    let outcome =
      if let others {
        try mergeAuthored(merge, context, arbitration) { (_, _) throws(StoreError) in others }
      } else if merge.target == .all || merge.arbiter != nil {
        try mergeAuthored(merge, context, arbitration) { (graph, line) throws(StoreError) in
          try self.heads(of: graph, line, all: merge.target == .all)
        }
      } else {
        try mergeHeads(context, arbitration)
      }
    guard case .waiting(let text) = outcome.result else { return outcome.asCommandResult }
    var error = ControlError(.forgotten, text)
    error.done = ControlError.Done(text: "", fields: outcome.reply)
    throw error
  }

  struct Arbitration {
    var arbiter: ChosenArbiter.Maker
    let trials: ArbiterTrials
    let lacked: LackedBytes
  }

  func standardArbitration(_ context: CommandContext) -> Arbitration {
    let trials = ArbiterTrials(telling: tree)
    let lacked = LackedBytes()
    return Arbitration(
      arbiter: ChosenArbiter.maker(
        settings.arbiters, store, trials, lacked: lacked, isCancelled: context.isCancelled),
      trials: trials, lacked: lacked)
  }

  /// Returns the versions that a word names: a branch's heads, or one version.
  private func named(_ word: String) throws -> [VersionRecord] {
    guard let line = try store.line(meant: word) else {
      let record = try version(word)
      let head = try store.state().head
      let isMerged =
        try head.map { try store.graph.isAncestorOrSelf(record.number, of: $0) } ?? false
      if !isMerged { try requireBytes(of: record) }
      return [record]
    }
    return try store.graph.uncontainedHeads(ofLine: Self.branch(line))
      .sorted(by: HistoryNode.mergesBefore).compactMap { try store.version($0.number) }
  }

  func heads(
    of graph: VersionGraph, _ line: Branch?, all: Bool
  ) throws(StoreError) -> [VersionRecord] {
    var nodes = try graph.uncontainedHeads(ofLine: line)
    if all {
      if line != nil { nodes += try graph.uncontainedHeads(ofLine: nil) }
      var last: String?
      while true {
        let names = try store.lines(after: last, limit: 256)
        guard let end = names.last else { break }
        last = end
        for name in names
        where !name.hasPrefix("llvs.") && name != VersionRecord.unnamedLine
          && Branch(rawValue: name) != line
        {
          nodes += try graph.uncontainedHeads(ofLine: Branch(rawValue: name))
        }
      }
    }
    var records: [VersionRecord] = []
    for node in nodes.sorted(by: HistoryNode.mergesBefore) {
      if let record = try store.version(node.number) { records.append(record) }
    }
    return records
  }

  /// Merges the heads of the working tree's line.
  /// - Throws: `unrelated` if all other heads belong to unrelated histories.
  func mergeHeads(_ context: CommandContext, _ arbitration: Arbitration) throws -> MergeOutcome {
    try withLackedBytes(arbitration.lacked, isAutomatic: true, context) {
      try attemptMerge(context, arbitration)
    }
  }

  private func attemptMerge(
    _ context: CommandContext, _ arbitration: Arbitration
  ) throws -> MergeOutcome {
    var summary = MergeSummary()
    summary.trials = arbitration.trials
    var before: VersionNumber?
    var left: [HistoryNode] = []
    var merges = 0
    var done: MergeReport?
    var outcome: CutOutcome
    repeat {
      outcome = try move(.merge, context) { (transaction, head) throws(StoreError) in
        before = head
        let line = try self.line(of: head, in: transaction)
        let report = try transaction.mergeHeads(
          ofLine: line, live: head, upTo: WriteTransaction.mergedAtOnce,
          arbiter: arbitration.arbiter, isCancelled: context.isCancelled)
        try arbitration.lacked.check()
        done = report
        // The tree moves once, to the version that contains all of them.
        guard report.isWhole else { return head }
        let graph = transaction.merger.graph
        left = try graph.uncontainedHeads(ofLine: line).filter { $0.number != report.outcome }
        return report.outcome
      }
      guard let done else { break }
      summary.add(clashes: done.clashes)
      merges += done.made.count
      if !done.isWhole { merges += try mergeMore(context, arbitration, &summary) }
    } while done?.isWhole != true
    summary.heads = merges == 0 ? 0 : merges + 1
    summary.missed = arbitration.lacked.missed.map { TreeView.ownPath($0) }
    let hasMoved = outcome.head.map { $0.number != before } ?? false
    if let other = left.first, !hasMoved {
      throw ControlError(
        .unrelated,
        "\(other.id.rawValue) has no common ancestor with the tree; "
          + "\"llvs merge \(other.id.rawValue) unrelated\" merges it all the same")
    }
    return merged(outcome, &summary, from: before)
  }

  /// Merges many heads of the line in bounded transactions without moving the tree; counts the versions.
  private func mergeMore(
    _ context: CommandContext, _ arbitration: Arbitration, _ summary: inout MergeSummary
  ) throws -> Int {
    var merges = 0
    var isWhole = false
    while !isWhole {
      try context.check()
      let report = try store.write { (transaction) throws(StoreError) in
        let head = try store.state().head
        let report = try transaction.mergeHeads(
          ofLine: try line(of: head, in: transaction), live: head,
          upTo: WriteTransaction.mergedAtOnce, arbiter: arbitration.arbiter,
          isCancelled: context.isCancelled)
        try arbitration.lacked.check()
        return report
      }
      summary.add(clashes: report.clashes)
      merges += report.made.count
      isWhole = report.isWhole
    }
    return merges
  }

  func line(
    of head: VersionNumber?, in transaction: WriteTransaction
  ) throws(StoreError) -> Branch? {
    guard let record = try transaction.version(head) else { return nil }
    return Self.branch(record.line)
  }

  private func mergeAuthored(
    _ merge: MergeCommand, _ context: CommandContext, _ arbitration: Arbitration,
    _ others: (VersionGraph, Branch?) throws(StoreError) -> [VersionRecord]
  ) throws -> MergeOutcome {
    try withLackedBytes(arbitration.lacked, isAutomatic: false, context) {
      try attemptAuthored(merge, context, arbitration, others)
    }
  }

  private func attemptAuthored(
    _ merge: MergeCommand, _ context: CommandContext, _ arbitration: Arbitration,
    _ others: (VersionGraph, Branch?) throws(StoreError) -> [VersionRecord]
  ) throws -> MergeOutcome {
    var summary = MergeSummary()
    summary.trials = arbitration.trials
    summary.isSettled = merge.arbiter?.isOneSide == true
    var before: VersionNumber?
    let outcome = try move(.merge, context) { (transaction, head) throws(StoreError) in
      before = head
      let line = try self.line(of: head, in: transaction)
      var current = head
      // One merger for all, because with each merge there is more history to examine.
      let merger = transaction.merger
      for other in try others(merger.graph, line) {
        if context.isCancelled() { throw .cancelled }
        guard let live = current else {
          current = other.number
          continue
        }
        if live == other.number { continue }
        if merge.target == .all, !merge.isUnrelated {
          let graph = merger.graph
          guard try graph.areRelated(try graph.node(live), try graph.node(other.number)) else {
            continue
          }
        }
        let report = try transaction.merge(
          other.number, into: live, allowingUnrelated: merge.isUnrelated, line: line,
          keepingLine: true, settling: merge.arbiter?.isOneSide == true, author: self.author,
          merger: merger, arbiter: arbitration.arbiter)
        if report.outcome != live { summary.heads += summary.heads == 0 ? 2 : 1 }
        summary.add(clashes: report.clashes)
        current = report.outcome
      }
      try arbitration.lacked.check()
      return current
    }
    summary.missed = arbitration.lacked.missed.map { TreeView.ownPath($0) }
    return merged(outcome, &summary, from: before)
  }

  private func merged(
    _ outcome: CutOutcome, _ summary: inout MergeSummary, from before: VersionNumber?
  ) -> MergeOutcome {
    let hasMoved = outcome.head.map { $0.number != before } ?? false
    if summary.heads > 0, let head = outcome.head?.number {
      do throws(StoreError) {
        var known: Set<Key> = []
        if let before { known = Set(try displaced.keys(at: before, in: store)) }
        summary.add(
          displaced: try displaced.keys(at: head, in: store).filter { !known.contains($0) })
      } catch {
        // The merge is done, even if its result cannot be read here.
        log.add("error", "which files directories keep from their names is not known: \(error)")
      }
      do throws(StoreError) {
        summary.values = try changedValues(from: before, to: head)
      } catch {
        log.add("error", "how many files the merge changed is not known: \(error)")
      }
      // The same: an unreadable version was reported above.
      summary.notFollowed = (try? notFollowed(in: outcome.head)) ?? []
    }
    let told = toldConflicts(summary)
    for (item, sides) in told { summary.sides[item.path] = sides.text }
    let name = outcome.head?.name ?? "-"
    let result: MergeOutcome.Result =
      summary.heads > 0
      ? .merged(
        "\(name) merged \(summary.text)",
        lines: ["\(name) merged \(summary.lines[0])"] + summary.lines[1...])
      : hasMoved ? .moved(name) : .nothing
    let merged = MergeOutcome(
      result: result,
      reply: [
        "version": hasMoved ? name : nil, "heads": summary.heads, "values": summary.values,
        "conflicts": summary.conflicts, "conflictSides": Self.reply(told),
        "settled": summary.settled, "arbiterFailures": summary.trials.reply,
        "unsaved": outcome.allUnsaved, "waits": ReplyValue.null,
      ])
    if hasMoved || summary.heads > 0 { log.add("merge", merged.asCommandResult.text) }
    return merged
  }

  /// Describes what a merge did not move along with directories that a side renamed.
  private func notFollowed(in head: VersionRecord?) throws(StoreError) -> [String] {
    guard let head, let first = head.first, let second = head.second,
      let common = try store.graph.commonAncestors(first, second).last,
      let base = try store.version(common.number)
    else { return [] }
    let (old, merged) = (TreeView(map: store.map(of: base)), TreeView(map: store.map(of: head)))
    let sides = try [first, second].map { (number) throws(StoreError) in
      try DirectoryRenames(
        from: old, to: TreeView(map: store.map(of: try store.version(number)))
      ).items
    }
    var texts: [String] = []
    for item in sides[0] + sides[1] {
      guard try merged.find(path: item.old) != nil else { continue }
      texts.append("\(item.text) on one side, files that the other side added there were not moved")
    }
    for one in sides[0] {
      for other in sides[1] where one.old == other.old && one.new != other.new {
        texts.append(
          "\(one.text) on one side and to \(PrintableText.text(other.new))/ on the other")
      }
    }
    return texts
  }

  /// Counts the values whose content differs; the edits of a merge are relative to either side's head.
  private func changedValues(
    from old: VersionNumber?, to new: VersionNumber
  ) throws(StoreError) -> Int {
    var count = 0
    var diff = try MapDiff(
      from: store.map(of: store.version(old)), to: store.map(of: store.version(new)),
      comparing: .content)
    while let change = try diff.next() { count += change.isDirectory ? 0 : 1 }
    return count
  }

  /// The makers of the sides that clashed, if readable: the merge is made in any case.
  private func toldConflicts(
    _ summary: MergeSummary
  ) -> [(item: OpenConflict, sides: ConflictSides)] {
    guard summary.heads > 0, !summary.isSettled, !summary.conflicts.isEmpty else { return [] }
    do {
      return try sides(of: summary.conflicts)
    } catch {
      let reason = ControlError(any: error).message
      log.add("error", "who made the sides of a conflict is not known: \(reason)")
      return []
    }
  }
}
