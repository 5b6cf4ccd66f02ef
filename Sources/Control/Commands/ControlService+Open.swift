import Events
import Grammar
import Inodes
package import LLVSCore
import Platform
import TreeNames
import WorkingTree

extension ControlService {
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
    let service = ControlService(tree, log: log, opener: opener)
    service.recordOpening(state.mended + recovery.losses)
    return service
  }
}
