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

  package static func now() -> Attributes.Time {
    let time = SystemClock.realtime()
    return Attributes.Time(seconds: time.seconds, nanoseconds: time.nanoseconds)
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

}

extension TreeSession: ArbiterFailureListener {
  /// Changes the status's summary of the newest merge that ran a command.
  package func updateArbiterFailures(_ body: (inout ArbiterTrials.Summary?) -> Void) {
    arbiterFailures.withLock { body(&$0) }
  }

  package func say(_ line: String) { damage.say(line) }
}
