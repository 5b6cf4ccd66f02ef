import Events
import Grammar
import Inodes
package import LLVSCore
import Platform
import TreeNames
import WorkingTree

extension ControlService {
  /// Opens the working tree of a store that is not mounted, so that commands work on it as in a
  /// mount.
  ///
  /// - Throws: the errors of ``LiveTree/open(_:defaults:ignore:settings:)``.
  package static func open(
    _ store: Store, opener: PeerOpener = .standard
  ) throws(StoreError) -> ControlService {
    let state = try store.state()
    let stored = state.settings
    var faults: [String] = []
    let settings = try StoreSettings(of: store, faults: &faults)
    let (tree, recovery) = try LiveTree.open(
      store,
      defaults: AttributeDefaults(uid: SystemProcess.user, gid: SystemProcess.group),
      ignore: stored[IgnorePatterns.settingName].map { IgnorePatterns($0) } ?? .defaults,
      settings: settings,
      // The process may end, or open the store once more, as soon as its command has ended.
      longCut: .max)
    let log = EventLog(directory: store.path)
    for fault in state.mended + faults + recovery.losses { log.add("error", fault) }
    let service = ControlService(
      versioner: TreeVersioner(tree: tree, log: log, telling: { _ in }), log: log, opener: opener)
    service.recordOpening(state.mended + recovery.losses)
    return service
  }
}
