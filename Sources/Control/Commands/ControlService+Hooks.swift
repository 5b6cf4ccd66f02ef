import Events
import Grammar
import LLVSCore
import TreeNames
import WorkingTree

// When the commands of on-version, on-conflict and on-sync are run.

extension ControlService {
  /// Looks at what a transition came to; called while others wait for theirs, so it only notes it.
  func noteTransition(_ outcome: CutOutcome) {
    guard let head = outcome.head, head.number != outcome.before else { return }
    let (before, settings) = (outcome.before, settings)
    if outcome.isNew, !settings.onVersion.isEmpty {
      hooks.add { [weak self] in
        self?.call(.onVersion, settings.onVersion, head) {
          service throws(ControlError) in try service.changedPaths(from: before, to: head)
        }
      }
    }
    guard !settings.onConflict.isEmpty else { return }
    hooks.add { [weak self] in
      let call = self?.call(.onConflict, settings.onConflict, head) {
        service throws(ControlError) in try service.newConflicts(at: head, since: before)
      }
      return call.flatMap { $0.paths.isEmpty ? nil : $0 }
    }
  }

  /// Notes that an exchange with peers has ended, in which the tree moved from one head to another.
  func noteSync(from before: VersionRecord?) {
    let command = settings.onSync
    guard !command.isEmpty else { return }
    hooks.add { [weak self] in
      guard let self, let head = try? headRecord() else { return nil }
      return call(.onSync, command, head) { service throws(ControlError) in
        before?.number == head.number
          ? [] : try service.changedPaths(from: before?.number, to: head)
      }
    }
  }

  private func call(
    _ setting: StoreSettings.Name, _ command: String, _ head: VersionRecord,
    _ paths: (ControlService) throws(ControlError) -> [[UInt8]]
  ) -> HookRunner.Call? {
    do throws(ControlError) {
      return HookRunner.Call(
        setting: setting, command: command, version: head.name, paths: try paths(self))
    } catch {
      log.add("error", "\(setting.rawValue) was not run: \(error.message)")
      return nil
    }
  }

  /// So many paths are found; a command gets no more.
  private static let pathLimit = 1000

  /// The first paths that differ between two versions.
  private func changedPaths(
    from before: VersionNumber?, to head: VersionRecord
  ) throws(ControlError) -> [[UInt8]] {
    try translating { () throws(StoreError) in
      let old = try before.map { (number) throws(StoreError) in try store.version(number) } ?? nil
      let (base, map) = (store.map(old?.map ?? .empty), store.map(head.map))
      let (from, to) = (TreeView(map: base), TreeView(map: map))
      var diff = try MapDiff(from: base, to: map)
      var paths: [[UInt8]] = []
      while paths.count < Self.pathLimit, let change = try diff.next() {
        if change.old == change.new { continue }
        let path = try (change.new == nil ? from : to).path(of: change.key)
        if paths.last != path { paths.append(path) }
      }
      return paths
    }
  }

  /// The paths of conflicts that are open at a head and were not at the one before.
  private func newConflicts(
    at head: VersionRecord, since before: VersionNumber?
  ) throws(ControlError) -> [[UInt8]] {
    try translating { () throws(StoreError) in
      var known: Set<Key> = []
      if let before { known = Set(try store.openConflictKeys(at: before)) }
      let view = TreeView(map: store.map(head.map))
      return try store.openConflictKeys(at: head.number).filter { !known.contains($0) }
        .prefix(Self.pathLimit).map { (key) throws(StoreError) in try view.path(of: key) }
    }
  }
}
