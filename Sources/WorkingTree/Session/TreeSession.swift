package import Events
package import Grammar
package import Inodes
package import LLVSCore
package import Platform
package import TreeNames

/// The open working tree of a store, with journal, rows and settings: makes versions and moves the head.
/// - Concurrency: thread-safe.
package final class TreeSession: Sendable {
  package static let rootInode: UInt64 = InodeNumber.root.rawValue
  package let store: Store
  /// The owner and modes where none is recorded.
  package let defaults: AttributeDefaults
  package let files: WorkingTree
  /// Notified of damage found by reading.
  package let damage: DamageReport
  /// The failed commands of the newest merge; nil if none failed.
  package let arbiterFailures = Monitor<ArbiterTrials.Summary?>(nil)
  let recorded: RecordedTree
  let journal: Journal
  let versioner: Versioner
  private let settings: Monitor<StoreSettings>
  let log: EventLog
  let listeners: Listeners

  init(
    _ store: Store, _ opened: OpenedWorkingTree, _ versioner: Versioner, _ settings: StoreSettings,
    damage: DamageReport, log: EventLog, listeners: Listeners
  ) {
    self.store = store
    self.versioner = versioner
    self.damage = damage
    self.log = log
    self.listeners = listeners
    (files, recorded, journal) = (opened.tree, opened.recorded, opened.journal)
    defaults = opened.tree.defaults
    self.settings = Monitor(settings)
  }

  package var storeSettings: StoreSettings {
    get { settings.withLock { $0 } }
    set { settings.withLock { $0 = newValue } }
  }

  package var ignorePatterns: IgnorePatterns { files.ignore }
  package var shownStamp: ShownStamp { files.shownStamp }

  package var shownBase: TreeView {
    TreeView(map: store.map(versioner.unshownHead?.map ?? recorded.state.root))
  }

  /// The version that the tree continues from; nil before the first one.
  package var shownHead: VersionNumber? {
    if let head = versioner.unshownHead { return head.number }
    return recorded.state.version.flatMap { try? store.version($0) }?.number
  }

  /// As ``WorkingTree/read(_:at:into:accessing:)``; damage is logged once, with its path.
  package func read(
    _ number: InodeNumber, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer,
    accessing: Bool = true
  ) throws(FSError) -> Int {
    do throws(FSError) {
      return try files.read(number, at: offset, into: buffer, accessing: accessing)
    } catch { throw told(error, of: number) }
  }

  /// As ``WorkingTree/readlink(_:)``; damage is logged once, with its path.
  package func readlink(_ number: InodeNumber) throws(FSError) -> [UInt8] {
    do throws(FSError) { return try files.readlink(number) } catch { throw told(error, of: number) }
  }

  private func told(_ error: FSError, of number: InodeNumber) -> FSError {
    guard let reason = error.damage else { return error }
    let path = try? files.path(of: number)
    damage.tell(reason, of: path.map { String(decoding: $0.bytes, as: UTF8.self) })
    return error
  }

  package struct Recovery: Sendable {
    /// Sentences about what could not be restored.
    package var losses: [String] = []
    /// The reason that nothing can be written now; usually nil.
    package var obstacle: String?
  }

  /// Opens the working tree of a store that is open for writing, and returns what opening found.
  ///
  /// `defaults` apply where no owner or mode is recorded; `log` gets a line for each failure. From
  /// `longCut` changed names on, a version does not wait for its rows. `notify` returns after the kernel's answer.
  /// - Throws: as ``OpenedWorkingTree/open(_:of:report:)``.
  package static func open(
    _ store: Store, defaults: AttributeDefaults, ignore: IgnorePatterns, settings: StoreSettings,
    log: EventLog? = nil, longCut: Int = Versioner.longCut,
    notify: @escaping @Sendable ([KernelNotice]) -> Void = { _ in }
  ) throws(StoreError) -> (TreeSession, Recovery) {
    let log = log ?? EventLog(directory: store.path)
    let damage = DamageReport()
    damage.listen { log.add("error", $0) }
    let report: @Sendable (String) -> Void = { damage.say($0) }
    let opened = try OpenedWorkingTree.open(
      TreePlace(
        rows: rows(of: store.path), journal: journal(of: store.path), bootID: bootID,
        defaults: defaults, ignore: ignore,
        time: { number in
          guard let number else { return .now }
          let record = try? store.version(number)
          return Attributes.Time(ofVersion: record?.timestamp ?? 0)
        }), of: store, report: report)
    let listeners = Listeners(kernel: notify)
    let versioner = try Versioner(
      store: store, recorded: opened.recorded, tree: opened.tree, journal: opened.journal,
      longCut: longCut, notify: { listeners.notify($0) }, report: report)
    versioner.setSettle(settings.settle)
    let session = TreeSession(
      store, opened, versioner, settings, damage: damage, log: log, listeners: listeners)
    return (session, Recovery(losses: opened.losses, obstacle: opened.obstacle))
  }

  /// The pending changes, for the status.
  package struct Pending: Sendable {
    /// Names with another file, or with changed bytes or attributes.
    package var changed = 0
    package var new = 0
    package var removed = 0
    /// Files with bytes that no save covers.
    package var unsaved: [[UInt8]] = []
    /// Names that new heads gave to other files and that are saved nevertheless.
    package var beside: [[UInt8]] = []
    /// Nanoseconds until the next version; nil while nothing is pending.
    package var due: UInt64?
  }

  /// Sets the listener called when the tree goes from clean to dirty; it must only set a flag.
  package func listenForPending(_ wake: @escaping @Sendable () -> Void) {
    files.listenForPending(wake)
  }

  /// The time and reason of the next automatic cut; nil while nothing is pending.
  package func nextCut() -> (tick: UInt64, reason: CutReason)? {
    files.nextCut(settle: storeSettings.settle).map { ($0.tick, $0.isOverdue ? .overdue : .quiet) }
  }

  /// True while a thread writes the rows of a version, whose changes count as pending until it ends.
  package var isShowing: Bool { versioner.isShowing }
  /// Waits until nothing in the newest version counts as pending. No thread that answers the kernel may call this,
  /// because the thread that writes rows notifies the kernel.
  package func awaitShown() { versioner.awaitShown() }

  /// The paths of all pending changes, sorted; nil for more than `limit`.
  /// - Throws: as ``WorkingTree/pendingPaths(atMost:)``.
  package func pendingPaths(atMost limit: Int) throws(FSError) -> [PendingPath]? {
    awaitShown()
    return try files.pendingPaths(atMost: limit)
  }

  /// - Complexity: O(*k* log *k*) for *k* pending names and files.
  package func pending() -> Pending {
    var pending = Pending()
    do throws(FSError) {
      let summary = try files.pendingSummary()
      (pending.changed, pending.new, pending.removed) = (
        summary.changed, summary.new, summary.removed
      )
      pending.unsaved = summary.unsaved.map(\.bytes)
      pending.beside = summary.beside.map(\.bytes)
    } catch { damage.tell("what is pending could not be counted: \(error)") }
    if let next = nextCut() {
      let now = SystemClock.monotonic()
      pending.due = next.tick > now ? next.tick - now : 0
      // An overdue cut marks saves and takes them after the quiet period.
      if next.reason == .overdue { pending.due? += storeSettings.settle }
    }
    return pending
  }
}

extension TreeSession: ArbiterFailureListener {
  /// Changes the status's summary of the newest merge that ran a command.
  package func updateArbiterFailures(_ body: (inout ArbiterTrials.Summary?) -> Void) {
    arbiterFailures.withLock { body(&$0) }
  }

  package func say(_ line: String) { damage.say(line) }
}
