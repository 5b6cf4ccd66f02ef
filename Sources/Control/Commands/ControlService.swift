package import Events
package import Grammar
import Inodes
package import LLVSCore
import Platform
import Search
private import Synchronization
import TreeNames
package import WorkingTree

// Each change of the head is a transition of the versioner, one at a time; everything else runs in parallel.
// Lock order: `state` and `busyPeers` are leaves; neither is held while a command runs.

/// Executes commands on a store and its working tree, mounted or not.
/// - Concurrency: any thread, any number of commands at once.
package final class ControlService: Sendable {
  package let tree: TreeSession
  package let log: EventLog
  let opener: PeerOpener
  let displaced = DisplacedValues()
  let documentMemory = DocumentMemory()
  /// The handle that keeps changes out of versions, if any.
  package let holds = VersionHolds()
  package let hooks: HookRunner
  package let clock: ServiceClock
  /// True while old versions are being forgotten, which one thread does at a time; its lock is a leaf.
  let isCompacting = Monitor(false)
  package let openHistory = OpenContents()
  /// True if programs use the tree in a mount.
  let isMounted: Bool

  struct State {
    var settings: StoreSettings
    /// The settings that were changed since the store was opened.
    var confirmed: Set<StoreSettings.Assignment> = []
    /// The newest result in the status, and its time; `isFault` is false for an error of the command's words, and for forgotten bytes.
    var last: (reply: ControlReply, time: Int64, isFault: Bool)?
    /// True if the log reports that the store's directory is no longer at its path.
    var isGone = false
    /// The last peer whose address was refused: a shell's write and close both fail, but only one is logged.
    var refusedPeer: (name: String, address: [UInt8])?
  }

  let state: Monitor<State>
  let busyPeers = Monitor<Set<String>>([])
  /// The peers that did not answer in time; its lock is a leaf.
  let silentPeers = Monitor(SilentPeers())
  /// The running commands, for the status; its lock is a leaf.
  let underWay = Monitor(UnderWay())
  /// A counter of changes of settings and peers; threads wait for it.
  let settingsChanged: Monitor<UInt64> = Monitor(0)
  private let isInterrupted = Atomic<Bool>(false)
  package var store: Store { tree.store }
  package var settings: StoreSettings { state.withLock { $0.settings } }

  package init(
    _ tree: TreeSession, log: EventLog, opener: PeerOpener = .standard,
    clock: ServiceClock = .system, isMounted: Bool = true
  ) {
    self.tree = tree
    self.isMounted = isMounted
    self.clock = clock
    self.log = log
    self.opener = opener
    state = Monitor(State(settings: tree.storeSettings))
    hooks = HookRunner(store: tree.store.path, log: log)
    tree.listen { [weak self] in self?.noteTransition($0) }
  }

  /// Ends running commands, as Ctrl-C does, and refuses new ones, before the mount or program ends.
  package func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

  @discardableResult
  package func run(
    _ words: [[UInt8]], context: CommandContext = CommandContext()
  ) throws(ControlError) -> CommandResult { try run(try Commands.parse(words), context: context) }

  /// Runs a command to its end, or until the context or ``interrupt()`` cancels it.
  /// - Throws: ``ControlError``; only complete parts are then done (a commit before a failed exchange).
  @discardableResult
  package func run(
    _ command: any Command, context: CommandContext = CommandContext()
  ) throws(ControlError) -> CommandResult {
    var context = context
    context.isCancelled = { [self, isCancelled = context.isCancelled] in
      isInterrupted.load(ordering: .relaxed) || isCancelled()
    }
    do throws(ControlError) {
      return try translating {
        try context.check()
        if command.effect == .version { try holds.wait(for: context.handle, context.isCancelled) }
        let result = try shown(command, context) { try command.run(in: self, $0) }
        if command.effect != .query { record(.done("\(command.title): \(result.text)")) }
        return result
      }
    } catch {
      recordFailure(of: command.title, error)
      throw error
    }
  }

  /// Records a failure for the status and the log; without a title it is a line that could not be parsed.
  func recordFailure(of title: String?, _ error: ControlError) {
    let subject = title.map { error.message.hasPrefix($0) ? "" : "\($0): " } ?? ""
    let isExpected = [.grammar, .notFound, .exists, .interrupted, .refused, .forgotten]
      .contains(error.kind)
    record(.failed("\(subject)\(error.message)"), isFault: !isExpected)
    if ![.grammar, .interrupted, .refused, .forgotten].contains(error.kind) {
      log.add("error", "\(subject)\(error.message)")
    }
  }

  package func recordOpening(_ faults: [String]) {
    if let first = faults.first { record(.failed(first), isFault: true) }
  }

  private func record(_ reply: ControlReply, isFault: Bool = false) {
    state.withLock { $0.last = (reply.firstLine, TimestampText.now(), isFault) }
  }

  /// The most files in a directory below `.llvs/search`.
  private static let shownLimit = 1000

  /// Returns the paths of the files below a directory that have the words, the best first; none without words.
  func foundPaths(_ words: [UInt8], below directory: [UInt8]) throws -> [[UInt8]] {
    guard let text = String(validating: words, as: UTF8.self), let query = SearchQuery(text) else {
      return []
    }
    let limit = Int(settings.searchLimit)
    var request = SearchIndex.Request(query)
    request.directory = directory
    request.limit = Self.shownLimit
    request.lineCount = 0
    request.pending = try SearchPending(of: tree, textLimit: limit)
    return try SearchIndex(of: store, textLimit: limit).search(request).hits.map(\.path)
  }

  /// Opens the working tree of an unmounted store, so that commands work on it as in a mount.
  /// - Throws: the errors of ``TreeSession/open(_:defaults:ignore:settings:log:longCut:notify:)``.
  package static func open(
    _ store: Store, opener: PeerOpener = .standard
  ) throws(StoreError) -> ControlService {
    let state = try store.state()
    let stored = state.settings
    var faults: [String] = []
    let settings = try StoreSettings(of: store, faults: &faults)
    let log = EventLog(directory: store.path)
    let (tree, recovery) = try TreeSession.open(
      store,
      defaults: AttributeDefaults(uid: SystemProcess.user, gid: SystemProcess.group),
      ignore: stored[IgnorePatterns.settingName].map { IgnorePatterns($0) } ?? .defaults,
      settings: settings, log: log,
      // The process may end, or open the store again, when its command has ended.
      longCut: .max)
    for fault in state.mended + faults + recovery.losses { log.add("error", fault) }
    let service = ControlService(tree, log: log, opener: opener, isMounted: false)
    service.recordOpening(state.mended + recovery.losses)
    return service
  }

  /// Runs a command that the status shows, with its progress.
  func shown(
    _ command: any Command, _ context: CommandContext,
    _ body: (CommandContext) throws -> CommandResult
  ) throws -> CommandResult {
    guard command.effect != .query else { return try body(context) }
    let number = underWay.withLock { $0.begin(command.title) }
    defer { underWay.withLock { $0.commands[number] = nil } }
    var context = context
    context.progress = { [underWay, progress = context.progress] now in
      underWay.withLock { $0.commands[number]?.progress = now }
      progress(now)
    }
    return try body(context)
  }
}

struct UnderWay {
  private var count = 0
  var commands: [Int: (title: String, progress: CommandProgress)] = [:]

  mutating func begin(_ title: String) -> Int {
    count += 1
    commands[count] = (title, CommandProgress("", done: 0, total: 0))
    return count
  }
}
