package import Control
package import Events
import FuseSession
import Grammar
import HistoryTree
import Inodes
package import LLVSCore
import Platform
import TreeNames
package import WorkingTree

// The life of a mount: from an open store to a tree that serves requests, and back.
//
// The end: saved changes become a version, the kernel unmounts, threads are joined, and a last cut gets late
// changes. The store's lock is released last, for processes that wait for it.

package final class MountDaemon: Sendable {
  package let store: Store
  package let tree: TreeSession
  package let log: EventLog
  package let recovery: TreeSession.Recovery
  package let control: ControlService
  private let autosaver: Autosaver
  private let autosync: Autosync
  private let searchFeed: SearchFeed
  private let compactor: Compactor
  private let session: FuseSession
  private let memory: KernelMemory
  private let history: HistoryMount?
  private let watch: MountWatch
  private let announcer: Announcer
  private let mountPoint: String
  private let isEnding = Monitor(false)
  /// Held during the last cut, so that a second caller finds it done.
  private let isFinished = Monitor(false)
  /// After the unmount, programs with open files may continue for this time, in nanoseconds.
  private static let grace: UInt64 = 2_000_000_000

  /// Opens the store and mounts it; requests are served once ``serve()`` runs.
  /// - Throws: ``ControlError``, ``StoreError``, ``FuseError``; then nothing stays mounted or locked.
  package init(_ request: MountRequest) throws {
    try request.checkPermission()
    SystemMemory.shareArenas()
    mountPoint = try Self.prepared(request)
    let (reference, listings) = (SessionReference(), CachedListings())
    store = try Self.opened(request)
    let state = try store.state()
    let settings = state.settings
    var faults: [String] = []
    let inForce = try StoreSettings(of: store, faults: &faults)
    log = EventLog(directory: store.path)
    (tree, recovery) = try TreeSession.open(
      store,
      defaults: AttributeDefaults(uid: SystemProcess.user, gid: SystemProcess.group),
      ignore: settings[IgnorePatterns.settingName].map { IgnorePatterns($0) } ?? .defaults,
      settings: inForce, log: log, notify: Self.telling(reference, listings))
    for fault in state.mended + faults { log.add("error", fault) }
    for loss in recovery.losses { log.add("error", loss) }
    if let obstacle = recovery.obstacle { log.add("error", obstacle) }
    watch = MountWatch { [tree] in tree.files.setAccessRules(AccessRules($0)) }
    control = ControlService(tree, log: log, opener: .besideMounts(own: mountPoint))
    control.recordOpening(state.mended + recovery.losses)
    autosaver = Autosaver(control)
    autosync = Autosync(control)
    searchFeed = SearchFeed(control)
    compactor = Compactor(control)
    var options = MountOptions(source: request.source ?? store.path)
    options.allowOther = request.allowsOthers
    options.flags = request.flags
    tree.files.setAccessRules(AccessRules(request.flags))
    options.others = request.others
    var connection = ConnectionOptions()
    connection.staysAwake = !request.savesPower
    connection.watch = request.watch
    connection.findsNumbers = true
    // Only root can give files away, so only in root's mount do owners matter to others.
    connection.enforcesACLs = request.allowsOthers && SystemProcess.effectiveUser == 0
    let meta = MetaTree(
      live: tree, services: ControlMetaServices(control),
      hidesPrivileges: request.flags.allowsSetIDs)
    let seesUsers = !request.allowsOthers || SystemProcess.user == 0
    announcer = Announcer(
      tree: tree, mountPoint: mountPoint, session: reference, seesUsers: seesUsers)
    session = try FuseSession(
      MountOperations(
        tree: tree, meta: meta, control: control, pool: WorkerPool(name: "llvs-command"),
        announcer: announcer, listings: listings, session: reference),
      mount: options, connection: connection)
    reference.value = session
    memory = KernelMemory(
      meta: meta, cache: session.notifier, mountPoint: mountPoint, limit: request.names,
      seesUsers: seesUsers)
    history =
      request.hurriesHistory
      ? HistoryMount(
        of: meta, in: tree, below: mountPoint, mount: options, connection: connection,
        memory: memory, log: log) : nil
    try session.mount(at: mountPoint)
    if let entry = try MountTable().mount(at: Array(mountPoint.utf8)) {
      store.announceMount(device: entry.device)
      watch.follow(entry)
      announcer.follow(device: entry.device)
    }
  }

  /// Returns the function that notifies the kernel of names and attributes that it did not change itself.
  private static func telling(
    _ reference: SessionReference, _ listings: CachedListings
  ) -> @Sendable ([KernelNotice]) -> Void {
    { told in
      guard let session = reference.value else { return }
      var directories: Set<InodeNumber> = []
      for one in told {
        switch one {
        case .attributes(let number):
          session.notifier.invalidateAttributes(NodeID(number.rawValue))
        case .name(let name):
          session.notifier.invalidate(name.own.name.bytes, in: NodeID(name.directory.rawValue))
          directories.insert(name.directory)
        case .listing(let directory): directories.insert(directory)
        }
      }
      // The kernel caches no name that it never looked up, so only this drops the cached listing.
      for directory in directories {
        listings.noteDropped(directory)
        session.notifier.invalidate(NodeID(directory.rawValue))
      }
      session.notifier.flush()
    }
  }

  private static func prepared(_ request: MountRequest) throws -> String {
    let point = request.mountPoint
    _ = try MountPoint.removeStale(point)
    guard try FileSystem.exists(point) else {
      throw ControlError(.notFound, "the mount point \(point) is not there")
    }
    guard try FileSystem.status(point).kind == .directory else {
      throw ControlError(.grammar, "\(point) is not a directory")
    }
    let resolved = try FileSystem.resolve(point)
    try checkRelation(of: resolved, to: request.store)
    return resolved
  }

  /// Throws for a mount that would cover its store, be inside it, or be a second one at its path.
  private static func checkRelation(of mountPoint: String, to store: String) throws {
    let relation = try PathRelation.of(mountPoint: mountPoint, toStore: store)
    let present = try MountTable().mount(at: Array(mountPoint.utf8))
    switch relation {
    case .separate: break
    case .equal: throw ControlError(.grammar, "\(mountPoint) is the store itself")
    case .above:
      throw ControlError(.grammar, "\(mountPoint) is above the store, which it would hide")
    case .inside: throw ControlError(.grammar, "\(mountPoint) is inside the store")
    }
    if present?.type == "fuse.llvs" {
      throw ControlError(.busy, "a store is mounted on \(mountPoint) already")
    }
  }

  /// The longest wait for a holder of the store's lock that announced its end, in nanoseconds.
  private static let patience: UInt64 = 120_000_000_000

  private static func opened(_ request: MountRequest) throws(StoreError) -> Store {
    func open() throws(StoreError) -> Store {
      try Store.open(
        path: request.store, mode: .writer, create: request.creates, isForced: request.isForced,
        patience: patience, makeRoom: TreeSession.giveUpRoom(of:))
    }
    do throws(StoreError) {
      return try open()
    } catch {
      guard error.isNoSpace, TreeSession.giveUpReserve(of: request.store) else { throw error }
      // SQLite needs some free space even for reading.
      return try open()
    }
  }

  /// Waits until history is mounted, if requested; returns a reason if it is not.
  package func awaitHistory() -> String? { history?.awaitMount() }

  package func serve() throws {
    try autosaver.start()
    try autosync.start()
    try searchFeed.start()
    try compactor.start()
    defer { finish() }
    try memory.start()
    defer { memory.stop() }
    try watch.start()
    defer { watch.stop() }
    try announcer.start()
    defer { announcer.stop() }
    // Its mount point is looked up through this mount, so its thread waits until this is served.
    history?.start()
    defer {
      if let history {
        history.end()
        // If it ended with this mount while programs have its files open, it is served until they close them.
        finish()
        history.wait()
      }
    }
    try session.run()
  }

  /// Makes a version and unmounts. False if programs have files open: the journal has their writes, so the process
  /// may exit.
  @discardableResult
  package func end() -> Bool {
    let isFirst = isEnding.withLock { isEnding in
      defer { isEnding = true }
      return !isEnding
    }
    guard isFirst else { return true }
    // The last cut waits neither for a merge nor for an arbiter's command.
    control.interrupt()
    announcer.stop()
    // Mapped pages arrive through the mount, so it must still be mounted.
    if let root = try? File(mountPoint, [.read, .directory]) { try? root.syncFileSystem() }
    cut()
    // The mount point is looked up through the outer mount, so this comes before its unmount.
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

  /// Makes the last version, and returns the changes that it lacks.
  @discardableResult
  private func cut() -> LastWriterStatus {
    do throws(StoreError) {
      let outcome = try tree.cut(.command)
      tree.awaitShown()
      func names(_ paths: [[UInt8]]) -> String? {
        paths.isEmpty ? nil : ControlService.names(paths)
      }
      return LastWriterStatus(
        damaged: names(outcome.damagedPaths),
        unsaved: names(outcome.allUnsaved + outcome.withoutBasePaths))
    } catch {
      let error = ControlError(error)
      log.add(.error, LostVersion(reason: error.message).text)
      return LastWriterStatus(failure: error.message, lacksSpace: error.kind == .noSpace)
    }
  }

  private func finish() {
    isFinished.withLock { isFinished in
      guard !isFinished else { return }
      isFinished = true
      store.announceFinishing()
      compactor.stop()
      searchFeed.stop()
      autosync.stop()
      autosaver.stop()
      let end = cut()
      control.hooks.finish()
      do throws(FSError) {
        try tree.files.sync()
      } catch {
        log.add("error", "the journal could not be synced: \(error)")
      }
      store.settle()
      store.announceEnd(end)
    }
  }
}
