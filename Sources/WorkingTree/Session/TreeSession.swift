package import Events
package import Grammar
package import Inodes
package import LLVSCore
package import Platform
package import TreeNames

/// The open working tree of a store: its files, their journal and rows, and the settings in force. It makes versions
/// of the tree and moves its head.
///
/// - Concurrency: any thread.
package final class TreeSession: Sendable {
  /// The number of the root directory.
  package static let rootInode: UInt64 = InodeNumber.root.rawValue

  /// The store.
  package let store: Store
  /// The owner and the modes that are shown where none is recorded.
  package let defaults: AttributeDefaults
  /// The files, as programs see and change them.
  package let files: WorkingTree
  /// Is notified of damage that reading meets.
  package let damage: DamageReport
  /// The failures of the commands that the newest merge asked; nil where none failed.
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

  /// The clock's time.
  package static func now() -> Attributes.Time {
    let time = SystemClock.realtime()
    return Attributes.Time(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }

  /// The settings in force.
  package var storeSettings: StoreSettings {
    get { settings.withLock { $0 } }
    set { settings.withLock { $0 = newValue } }
  }

  /// The store's own ignore patterns.
  package var ignorePatterns: IgnorePatterns { files.ignore }

  /// The stamp of what the tree shows now.
  package var shownStamp: ShownStamp { files.shownStamp }

  /// The head's tree, as the working tree shows it.
  package var shownBase: TreeView {
    TreeView(map: store.map(versioner.unshownHead?.map ?? recorded.state.root))
  }

  /// The version that the tree continues from; nil before the first version.
  package var shownHead: VersionNumber? {
    if let head = versioner.unshownHead { return head.number }
    return recorded.state.version.flatMap { try? store.version($0) }?.number
  }

}

extension TreeSession: ArbiterFailureListener {
  /// Changes the summary of the newest merge that asked a command, which the status tells.
  package func updateArbiterFailures(_ body: (inout ArbiterTrials.Summary?) -> Void) {
    arbiterFailures.withLock { body(&$0) }
  }

  /// Writes a line to the log.
  package func say(_ line: String) { damage.say(line) }
}
