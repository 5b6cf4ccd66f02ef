import Events
import Grammar
import LLVSCore
import TreeNames
import WorkingTree

// Finds out when to run the commands of on-version, on-conflict and on-sync.

extension ControlService {
  /// Logs the version of a transition and queues its hooks, which do not run here because the caller blocks other
  /// transitions.
  func noteTransition(_ outcome: CutOutcome) {
    if let made = outcome.made(in: store) { log.add(.version, made) }
    guard let head = outcome.head, head.number != outcome.before else { return }
    let (before, settings) = (outcome.before, settings)
    if settings.isolated { return }
    if outcome.isNew, !settings.onVersion.isEmpty {
      hooks.add { [weak self] in
        self?.call(.onVersion, settings.onVersion, head) {
          try $0.changedPaths(from: before, to: head)
        }
      }
    }
    guard !settings.onConflict.isEmpty else { return }
    hooks.add { [weak self] in
      let call = self?.call(.onConflict, settings.onConflict, head) {
        try $0.newConflicts(at: head, since: before)
      }
      return call.flatMap { $0.paths.isEmpty ? nil : $0 }
    }
  }

  /// Queues the hooks of an exchange, during which the tree moved from `before` to the present head.
  func noteSync(from before: VersionRecord?) {
    let (command, isIsolated) = (settings.onSync, settings.isolated)
    guard !command.isEmpty, !isIsolated else { return }
    hooks.add { [weak self] in
      guard let self, let head = try? headRecord() else { return nil }
      return call(.onSync, command, head) {
        before?.number == head.number ? [] : try $0.changedPaths(from: before?.number, to: head)
      }
    }
  }

  private func call(
    _ setting: StoreSettings.Name, _ command: String, _ head: VersionRecord,
    _ paths: (ControlService) throws -> [[UInt8]]
  ) -> HookRunner.Call? {
    do {
      return HookRunner.Call(
        setting: setting, command: command, version: head.name, paths: try paths(self))
    } catch {
      log.add("error", "\(setting.rawValue) was not run: \(ControlError(any: error).message)")
      return nil
    }
  }

  /// The most paths that a command gets.
  private static let pathLimit = 1000

  private func changedPaths(
    from before: VersionNumber?, to head: VersionRecord
  ) throws -> [[UInt8]] {
    let old = try store.version(before)
    let (base, map) = (store.map(of: old), store.map(head.map))
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

  /// The paths of conflicts that are open at a head but not at the one before.
  private func newConflicts(
    at head: VersionRecord, since before: VersionNumber?
  ) throws -> [[UInt8]] {
    let known = Set(try before.map { try store.openConflictKeys(at: $0) } ?? [])
    let view = TreeView(map: store.map(head.map))
    return try store.openConflictKeys(at: head.number).filter { !known.contains($0) }
      .prefix(Self.pathLimit).map { try view.path(of: $0) }
  }
}
