package import Events
package import Grammar
package import LLVSCore
import Platform
private import Synchronization
package import WorkingTree

// The commands. Each change of the head is a transition of the versioner, one at a time; everything
// else runs in parallel.
//
// Lock order: `state` and `busyPeers` are leaves; neither is held while a command runs.

/// Executes commands on a store and its working tree, mounted or not.
///
/// - Concurrency: any thread, any number of commands at once.
package final class ControlService: Sendable {
  /// The working tree.
  package let tree: TreeSession
  /// The store's log.
  package let log: EventLog
  let opener: PeerOpener
  let displaced = DisplacedValues()
  let documentMemory = DocumentMemory()
  /// The handle that keeps changes out of versions, if one does.
  package let holds = VersionHolds()
  /// Runs what the settings say is to be run when something happened.
  package let hooks: HookRunner

  struct State {
    var settings: StoreSettings
    /// The settings that were changed since the store was opened.
    var confirmed: Set<StoreSettings.Assignment> = []
    /// The newest result, as the status shows it, and its time.
    var last: (reply: ControlReply, time: Int64)?
    /// The log has a line saying that the store's directory is not at its path any more.
    var isGone = false
    /// The last peer whose address was refused. A shell writes and closes, so the same address is
    /// refused twice, and logged once.
    var refusedPeer: (name: String, address: [UInt8])?
  }

  let state: Monitor<State>
  /// The addresses of exchanges that are running.
  let busyPeers = Monitor<Set<String>>([])
  /// The commands that run, as the status shows them; its lock is a leaf.
  let underWay = Monitor(UnderWay())
  /// A counter that changes with the settings and the peers, for threads that wait for that.
  let settingsChanged: Monitor<UInt64> = Monitor(0)
  private let isInterrupted = Atomic<Bool>(false)

  /// The store.
  package var store: Store { tree.store }

  /// The settings in force.
  package var settings: StoreSettings { state.withLock { $0.settings } }

  /// Creates a service; `opener` opens peers.
  package init(_ tree: TreeSession, log: EventLog, opener: PeerOpener = .standard) {
    self.tree = tree
    self.log = log
    self.opener = opener
    state = Monitor(State(settings: tree.storeSettings))
    hooks = HookRunner(store: tree.store.path, log: log)
    tree.listen { [weak self] in self?.noteTransition($0) }
  }

  /// Ends running commands, as Ctrl-C does, and refuses new ones, before the mount or program ends.
  package func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

  /// Runs a command to its end, or until the context or ``interrupt()`` cancels it.
  ///
  /// - Throws: ``ControlError``; the command has then changed nothing, except by parts that were
  ///   complete (a commit before a failed exchange).
  package func run(
    _ command: ControlCommand, context: CommandContext = CommandContext()
  ) throws(ControlError) -> CommandResult {
    var context = context
    context.isCancelled = { [self, isCancelled = context.isCancelled] in
      isInterrupted.load(ordering: .relaxed) || isCancelled()
    }
    do throws(ControlError) {
      try context.check()
      if command.waitsForHolds { try holds.wait(for: context.handle, context.isCancelled) }
      let result = try shown(command, context) { (context) throws(ControlError) in
        try execute(command, context)
      }
      if !command.isQuery { record(.done("\(command.title): \(result.text)")) }
      return result
    } catch {
      recordFailure(of: command.title, error)
      throw error
    }
  }

  /// Records a failure for the status and the log; without a title it is a line that could not be
  /// parsed.
  func recordFailure(of title: String?, _ error: ControlError) {
    let subject = title.map { error.message.hasPrefix($0) ? "" : "\($0): " } ?? ""
    record(.failed("\(subject)\(error.message)"))
    if error.kind != .grammar && error.kind != .interrupted && error.kind != .refused {
      log.add("error", "\(subject)\(error.message)")
    }
  }

  /// Records the faults that were found when the store was opened, for the status.
  package func recordOpening(_ faults: [String]) {
    if let first = faults.first { record(.failed(first)) }
  }

  private func record(_ reply: ControlReply) {
    state.withLock { $0.last = (reply.firstLine, TimestampText.now()) }
  }

  private func execute(
    _ command: ControlCommand, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    switch command {
    case .commit(let message):
      let result = try commit(message)
      if let handle = context.handle { holds.end(of: handle) }
      return result
    case .hold(let time): return try hold(time, context)
    case .retrieve(let peers): return try exchange(peers, [.retrieve], context)
    case .send(let peers): return try exchange(peers, [.send], context)
    case .exchange(let peers): return try exchange(peers, [.retrieve, .send], context)
    case .sync(let peers): return try sync(peers, context)
    case .importing(let command): return try importing(command, context)
    case .merge(let merge): return try self.merge(merge, context)
    case .restore(let version, let paths): return try restore(version, paths, context)
    case .undo: return try undo(context)
    case .redo: return try redo(context)
    case .branch(let name): return try branch(name, context)
    case .branches: return try branches()
    case .removeBranch(let name, let isForced):
      return try removeBranch(name, isForced: isForced, context)
    case .renameBranch(let old, let new): return try renameBranch(old, to: new, context)
    case .switchTo(let target, let line): return try switchTo(target, line: line, context)
    case .set(let assignments): return try set(assignments)
    case .setPeers(let assignments): return try set(assignments)
    case .renewReplica: return try renewReplica()
    case .adopt(let peer, let writer): return try adopt(writer, at: peer, context)
    case .key(let peer, let request): return try key(peer, request, context)
    case .settings(let names): return try list(names)
    case .ignore(let patterns): return try ignore(patterns)
    case .checkIgnored(let paths): return try checkIgnored(paths)
    case .untrack(let paths): return try untrack(paths, context)
    case .verify(let peer): return try verify(peer, context)
    case .verifyTree: return try verifyTree(context)
    case .peer(let name, let change): return try self.change(name, change)
    case .status:
      tree.awaitShown()
      let status = try self.status()
      return CommandResult(status.text, status.fields)
    case .pending: return try pendingPaths()
    case .log(let count): return lastLog(count ?? 10)
    case .help: return help()
    case .settle(let path, let settlement): return try settle(path, settlement, context)
    case .conflicts(let path): return try conflicts(path)
    case .tag(let name, let version, let moves): return try tag(name, version, moves: moves)
    case .tags: return try tags()
    case .removeTag(let name): return try removeTag(name)
    case .renameTag(let old, let new): return try renameTag(old, to: new)
    }
  }

  private func lastLog(_ count: Int) -> CommandResult {
    let lines = log.lastLines(count)
    return CommandResult(
      lines.joined(separator: "\n"),
      [ReplyField("lines", .list(lines.map { .text($0) }))])
  }

  private func help() -> CommandResult {
    let lines = ControlCommand.usage.map(\.usage)
    return CommandResult(
      lines.joined(separator: "\n"), [ReplyField("usage", .list(lines.map { .text($0) }))])
  }
}
