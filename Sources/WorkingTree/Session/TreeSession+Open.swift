package import Events
package import Grammar
package import Inodes
package import LLVSCore
import Platform
package import TreeNames

extension TreeSession {
  package struct Recovery: Sendable {
    /// Sentences about what could not be restored.
    package var losses: [String] = []
    /// The reason that nothing can be written now; usually nil.
    package var obstacle: String?
  }

  /// Opens the working tree of a store that is open for writing, and returns what opening found.
  ///
  /// `defaults` apply where no owner or mode is recorded; `log` gets a line for each version and failure. From
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
        defaults: defaults,
        time: { number in
          guard let number else { return now() }
          let record = try? store.version(number)
          return Attributes.Time(ofVersion: record?.timestamp ?? 0)
        }), of: store, report: report)
    opened.tree.setIgnore(ignore)
    let listeners = Listeners(kernel: notify)
    let versioner = try Versioner(
      store: store, recorded: opened.recorded, tree: opened.tree, journal: opened.journal,
      longCut: longCut, notify: { listeners.notify($0) }, report: report)
    versioner.setSettle(settings.settle)
    let session = TreeSession(
      store, opened, versioner, settings, damage: damage, log: log, listeners: listeners)
    return (session, Recovery(losses: opened.losses, obstacle: opened.obstacle))
  }
}
