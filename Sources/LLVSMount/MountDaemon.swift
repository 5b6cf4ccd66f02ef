package import Control
import FuseSession
import Grammar
import HistoryTree
package import LLVSCore
import Platform
import TreeNames
package import WorkingTree

// The life of a mount: from an open store to a tree that answers, and back.
//
// The end, whoever asks for it: what is saved is cut into a version, the kernel lets go, the threads that
// serve it are joined, a last cut takes what arrived meanwhile, and the store's lock is given up last, so
// that who waits for it finds everything done.

/// A mounted store.
package final class MountDaemon: Sendable {
  package let store: Store
  package let tree: LiveTree
  package let versioner: Versioner
  package let log: EventLog
  package let recovery: LiveTree.Recovery
  package let control: ControlService
  private let autosaver: Autosaver
  private let autosync: Autosync
  private let session: FuseSession
  private let memory: KernelMemory
  private let history: HistoryMount?
  private let mountPoint: String
  private let isEnding = Monitor(false)
  /// Held through the last cut, so that whoever comes second finds it done.
  private let isFinished = Monitor(false)
  /// How long programs that have files open may go on once the mount is out of sight, in nanoseconds.
  private static let grace: UInt64 = 2_000_000_000

  /// Opens the store and mounts it; requests are served once ``serve()`` runs.
  ///
  /// - Throws: ``MountError``; nothing stays mounted or locked then.
  package init(_ request: MountRequest) throws(MountError) {
    try request.checkPermission()
    mountPoint = try Self.prepared(request)
    let mended: [String]
    do throws(StoreError) {
      store = try Self.opened(request)
      let state = try store.state()
      mended = state.mended
      let settings = state.settings
      var faults: [String] = []
      let inForce = try StoreSettings(of: store, faults: &faults)
      log = EventLog(directory: store.path)
      (tree, recovery) = try LiveTree.open(
        store,
        defaults: LiveTree.Defaults(uid: SystemProcess.user, gid: SystemProcess.group),
        ignore: settings[IgnorePatterns.settingName].map { IgnorePatterns($0) } ?? .defaults,
        settings: inForce)
      for fault in state.mended + faults { log.add("error", fault) }
    } catch {
      throw .store(error)
    }
    for loss in recovery.losses { log.add("error", loss) }
    if let obstacle = recovery.obstacle { log.add("error", obstacle) }
    let reference = SessionReference()
    versioner = Versioner(tree: tree, log: log) { told in
      guard let session = reference.value else { return }
      var directories: Set<UInt64> = []
      for one in told {
        switch one {
        case .node(let id): session.notifier.invalidateAttributes(NodeID(id))
        case .entry(let parent, let name):
          session.notifier.invalidate(name, in: NodeID(parent))
          directories.insert(parent)
        }
      }
      // A name that the kernel never looked up is nothing to it, and leaves the listing that it keeps.
      for parent in directories { session.notifier.invalidate(NodeID(parent)) }
      session.notifier.flush()
    }
    control = ControlService(
      versioner: versioner, log: log, opener: .outside(mountPoint: mountPoint))
    control.noteOpening(mended + recovery.losses)
    autosaver = Autosaver(control)
    autosync = Autosync(control)
    var options = MountOptions(source: request.source ?? store.path)
    options.allowOther = request.allowsOthers
    options.flags = request.flags
    options.others = request.others
    var connection = ConnectionOptions()
    connection.staysAwake = !request.savesPower
    connection.watch = request.watch
    let hidden = MetaTree(
      live: tree, services: MetaServices(control),
      hidesPrivileges: request.flags.allowsSetIDs)
    do throws(FuseError) {
      session = try FuseSession(
        MountOperations(
          tree: tree, hidden: hidden, control: control, pool: WorkerPool(), session: reference),
        serving: MountOperations.served, mount: options, connection: connection)
      reference.value = session
      memory = KernelMemory(
        tree: tree, hidden: hidden, cache: session.notifier, mountPoint: mountPoint,
        limit: request.names, seesUsers: !request.allowsOthers || SystemProcess.user == 0)
      history =
        request.hurriesHistory
        ? HistoryMount(
          of: hidden, in: tree, below: mountPoint, mount: options, connection: connection,
          memory: memory, log: log) : nil
      try session.mount(at: mountPoint)
      if let entry = try MountTable().mount(at: Array(mountPoint.utf8)) {
        store.announceMount(device: entry.device)
      }
    } catch {
      throw .session(error)
    }
  }

  private static func prepared(_ request: MountRequest) throws(MountError) -> String {
    do throws(FuseError) {
      _ = try MountPoint.removeStale(request.mountPoint)
    } catch {
      throw .session(error)
    }
    let isDirectory: Bool?
    let resolved: String
    do throws(SystemError) {
      let isThere = try FileSystem.exists(request.mountPoint)
      isDirectory = isThere ? try FileSystem.status(request.mountPoint).kind == .directory : nil
      resolved = isThere ? try FileSystem.resolve(request.mountPoint) : request.mountPoint
    } catch {
      throw .system(error)
    }
    guard let isDirectory else {
      throw .missing("the mount point \(request.mountPoint) is not there")
    }
    guard isDirectory else { throw .place("\(request.mountPoint) is not a directory") }
    try checkRelation(of: resolved, to: request.store)
    return resolved
  }

  /// A mount must not cover its store, nor lie in it, nor stand twice.
  private static func checkRelation(of mountPoint: String, to store: String) throws(MountError) {
    let relation: PathRelation
    let present: MountEntry?
    do throws(FuseError) {
      relation = try PathRelation.of(mountPoint: mountPoint, toStore: store)
      present = try MountTable().mount(at: Array(mountPoint.utf8))
    } catch {
      throw .session(error)
    }
    switch relation {
    case .separate: break
    case .equal: throw .place("\(mountPoint) is the store itself")
    case .above: throw .place("\(mountPoint) is above the store, which it would hide")
    case .inside: throw .place("\(mountPoint) is inside the store")
    }
    if present?.type == "fuse.llvs" {
      throw .busy("a store is mounted on \(mountPoint) already")
    }
  }

  /// How long to wait for a holder that says it is finishing, in nanoseconds.
  private static let patience: UInt64 = 120_000_000_000

  private static func opened(_ request: MountRequest) throws(StoreError) -> Store {
    let start = SystemClock.monotonic()
    var mayGiveUp = true
    while true {
      do throws(StoreError) {
        return try Store.open(
          path: request.store, mode: .writer, create: request.creates,
          isForced: request.isForced, makeRoom: LiveTree.giveUpRoom(of:))
      } catch {
        if mayGiveUp, error.isNoSpace, LiveTree.giveUpReserve(of: request.store) {
          // SQLite needs some room even to look.
          mayGiveUp = false
          continue
        }
        guard case .busy(let reason) = error, reason.contains("finishing"),
          SystemClock.monotonic() - start < patience
        else { throw error }
        SystemClock.sleep(nanoseconds: 100_000_000)
      }
    }
  }

  /// How many nodes of history are in memory.
  package var hiddenNodeCount: Int { memory.hiddenNodeCount }

  /// Waits until history stands as a file system of its own, where that was asked for.
  ///
  /// - Returns: why it does not; nil where it does, or need not.
  package func awaitHistory() -> String? { history?.awaitMount() }

  // MARK: - Serving

  /// Serves until the file system is unmounted, then takes the last cut.
  package func serve() throws(MountError) {
    do throws(StoreError) {
      try autosaver.start()
      try autosync.start()
    } catch {
      throw .store(error)
    }
    defer { finish() }
    do throws(SystemError) {
      try memory.start()
    } catch {
      throw .store(.system(error))
    }
    defer { memory.stop() }
    // It looks for its place through this mount, and so waits until that is served.
    history?.start()
    defer {
      if let history {
        history.end()
        // Where it went with this mount and programs have files of it open, it is served on.
        finish()
        history.wait()
      }
    }
    do throws(FuseError) {
      try session.run()
    } catch {
      throw .session(error)
    }
  }

  /// Unmounts after a cut: what SIGTERM and `llvs unmount` ask for.
  ///
  /// - Returns: whether ``serve()`` comes to its end. If not, programs go on having files open: all is done
  ///   but for them, what they wrote is in the journal, and the process may exit.
  @discardableResult
  package func end() -> Bool {
    let isFirst = isEnding.withLock { isEnding in
      defer { isEnding = true }
      return !isEnding
    }
    guard isFirst else { return true }
    // The last cut waits for no merge, and for no program that one asks.
    control.interrupt()
    // Mapped pages arrive through the mount while it still stands.
    if let root = try? File(mountPoint, [.read, .directory]) { try? root.syncFileSystem() }
    cut()
    // Found through the mount that it stands in, and so before that goes.
    history?.end()
    do throws(FuseError) {
      try session.requestUnmount(lazily: true)
    } catch {
      log.add("error", "\(error)")
    }
    let start = SystemClock.monotonic()
    while session.mountPoint != nil || history?.hasEnded == false {
      guard SystemClock.monotonic() - start < Self.grace else {
        finish()
        return false
      }
      SystemClock.sleep(nanoseconds: 5_000_000)
    }
    return true
  }

  /// What the log says, with the reason behind it, where the version that ends a mount could not be made.
  package static let lostCut = "error the last cut failed: "

  /// Makes the last version, and says what is not in it.
  @discardableResult
  private func cut() -> LastWriterStatus {
    do throws(StoreError) {
      let outcome = try versioner.cut(.command)
      func names(_ paths: [[UInt8]]) -> String? {
        paths.isEmpty ? nil : ControlService.names(paths)
      }
      return LastWriterStatus(
        damaged: names(outcome.unreadable), unsaved: names(outcome.allUnsaved))
    } catch {
      let reason = ControlError(error).message
      log.add("error", "the last cut failed: \(reason)")
      return LastWriterStatus(failure: reason)
    }
  }

  private func finish() {
    isFinished.withLock { isFinished in
      guard !isFinished else { return }
      isFinished = true
      store.announceFinishing()
      autosync.stop()
      autosaver.stop()
      let end = cut()
      do throws(FSError) {
        try tree.sync()
      } catch {
        log.add("error", "the journal could not be synced: \(error)")
      }
      store.settle()
      store.announceEnd(end)
    }
  }
}
