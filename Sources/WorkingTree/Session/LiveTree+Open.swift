import Events
package import Grammar
package import Inodes
package import LLVSCore
import Platform
package import TreeNames

extension LiveTree {
  /// The findings of opening a tree.
  package struct Recovery: Sendable {
    /// Sentences about what could not be brought back; empty as a rule.
    package var losses: [String] = []
    /// The reason that nothing can be written now; nil as a rule.
    package var obstacle: String?
  }

  /// Opens the working tree of a store that is open for writing.
  ///
  /// `longCut` is the number of changed names from which on a version does not wait for its rows.
  ///
  /// - Throws: as ``OpenedWorkingTree/open(_:of:report:)``.
  package static func open(
    _ store: Store, defaults: AttributeDefaults, ignore: IgnorePatterns, settings: StoreSettings,
    longCut: Int = Versioner.longCut
  ) throws(StoreError) -> (LiveTree, Recovery) {
    let damage = DamageReport()
    let report: @Sendable (String) -> Void = { damage.say($0) }
    let opened = try OpenedWorkingTree.open(
      TreePlace(
        rows: rows(of: store.path), journal: journal(of: store.path), bootID: bootID,
        defaults: defaults,
        time: { number in
          guard let number else { return now() }
          let record = try? store.version(number)
          return Attributes.Time(ofVersion: record?.timestamp ?? 0)
        }),
      of: store, report: report)
    opened.tree.setIgnore(ignore)
    let listener = Monitor<(@Sendable (HeadChanges) -> Void)?>(nil)
    let engine = try Versioner(
      store: store, recorded: opened.recorded, tree: opened.tree, journal: opened.journal,
      longCut: longCut,
      notify: { changes in listener.withLock { $0 }?(changes) }, report: report)
    engine.setSettle(settings.settle)
    let tree = LiveTree(store, opened, engine, settings, damage: damage, listener: listener)
    return (tree, Recovery(losses: opened.losses, obstacle: opened.obstacle))
  }
}
