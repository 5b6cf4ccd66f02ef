import Events
package import FuseSession
import HistoryTree
import LLVSCore
import Platform
import WorkingTree

// History as a separate file system, mounted inside the tree that it belongs to.
//
// State: made -> serving -> ended, by `end()`, a user's unmount or the outer mount's end. A separate thread mounts
// and serves it, because its mount point is looked up through the outer mount.

/// `.llvs/versions` of a mount as a second, read-only mount. The kernel itself refuses changes there, caches
/// attributes and bytes, and opens files without a request.
/// - Concurrency: callable from any thread. Its lock is a leaf.
package final class HistoryMount: Sendable {
  private enum State {
    case made
    /// With the mount's ID, if known.
    case serving(FuseSession, mount: UInt32?)
    case ended(obstacle: String?)
  }

  private struct Life {
    var state = State.made
    var isOver = false
  }

  /// The most threads: all that requests here wait for is the disk.
  private static let threads: UInt32 = 4
  private let outer: MetaTree
  private let live: TreeSession
  private let path: String
  private let options: MountOptions
  private let connection: ConnectionOptions
  private let memory: KernelMemory
  private let log: EventLog
  private let life = Monitor(Life())

  init(
    of meta: MetaTree, in live: TreeSession, below mountPoint: String, mount: MountOptions,
    connection: ConnectionOptions, memory: KernelMemory, log: EventLog
  ) {
    outer = meta
    self.live = live
    path = Self.path(below: mountPoint)
    self.memory = memory
    self.log = log
    var options = mount
    options.flags.isReadOnly = true
    // History never has device nodes, and its programs never run as another user, for any setting of the tree.
    options.flags.allowsDevices = false
    options.flags.allowsSetIDs = false
    self.options = options
    var connection = connection
    connection.withoutOpens = true
    connection.findsNumbers = false
    connection.comparesTimes = true
    connection.threads = Self.threads
    self.connection = connection
  }

  /// Starts a thread that mounts and serves it; the log gets errors.
  func start() {
    do throws(SystemError) {
      try SystemThread.detach(name: "llvs-history") { [self] in serve() }
    } catch {
      ended("\(error)")
    }
  }

  private func serve() {
    do {
      guard let (session, tree) = try show() else { return ended(nil) }
      // The closure holds the session, so its descriptor stays open until the last notification is sent.
      let listener = live.store.listenForVersions {
        session.notifier.invalidateAttributesAtOnce(.root)
      }
      memory.adopt(
        KernelMemory.History(
          tree: tree, cache: session.notifier, path: path, mount: mountNumber))
      defer {
        live.store.stopListening(listener)
        memory.adopt(nil)
      }
      try session.run()
      ended(nil)
    } catch {
      // The mount may have failed because the outer mount just ended.
      ended(life.withLock { $0.isOver } ? nil : "\(error)")
    }
  }

  /// Mounts it; nil if it was ended in the meantime.
  private func show() throws -> (FuseSession, VersionsFileSystem)? {
    let tree = try VersionsFileSystem(of: outer)
    let session = try FuseSession(
      HistoryOperations(tree, live: live), mount: options, connection: connection)
    guard !life.withLock({ $0.isOver }) else { return nil }
    try session.mount(at: path)
    let number = try? MountTable().mount(at: Array(path.utf8))?.id
    let isWanted = life.withLock { life in
      guard !life.isOver else { return false }
      life.state = .serving(session, mount: number)
      return true
    }
    life.broadcast()
    // Dropping the session unmounts it.
    return isWanted ? (session, tree) : nil
  }

  private var mountNumber: UInt32? {
    life.withLock { life in
      if case .serving(_, let mount) = life.state { mount } else { nil }
    }
  }

  private func ended(_ obstacle: String?) {
    if let obstacle { log.add("error", "history as a file system of its own: \(obstacle)") }
    life.withLock { $0.state = .ended(obstacle: obstacle) }
    life.broadcast()
  }

  /// Removes the mount from the tree; it is served until the last of its files is closed.
  func end() {
    let serving = life.withLock { life -> (FuseSession, UInt32?)? in
      life.isOver = true
      if case .serving(let session, let mount) = life.state { return (session, mount) }
      return nil
    }
    guard let (session, number) = serving else { return }
    // Another file system may now be mounted there.
    if let number, let table = try? MountTable(),
      !table.entries.contains(where: { $0.id == number })
    {
      return
    }
    do throws(FuseError) {
      try session.requestUnmount(lazily: true)
    } catch {
      log.add("error", "\(error)")
    }
  }

  var hasEnded: Bool {
    life.withLock { life in
      if case .ended = life.state { true } else { false }
    }
  }

  func wait() {
    life.wait { life -> Void? in
      if case .ended = life.state { () } else { nil }
    }
  }

  /// Waits until it is mounted; returns a reason if it is not.
  func awaitMount() -> String? {
    let obstacle: String?? = life.wait { life in
      switch life.state {
      case .made: nil
      case .serving: .some(nil)
      case .ended(let obstacle): .some(obstacle)
      }
    }
    return obstacle ?? nil
  }

  package static func path(below mountPoint: String) -> String { mountPoint + "/" + Self.place }
  static let place = ".llvs/versions"

  /// The mounts of a table, without those that show the history of their own mount.
  package static func others(of table: MountTable) -> [MountEntry] {
    let stores = Dictionary(
      table.entries.lazy.filter { $0.type == "fuse.llvs" }.map { ($0.id, $0) },
      uniquingKeysWith: { $1 })
    return table.entries.filter { entry in
      guard entry.type == "fuse.llvs", let above = stores[entry.parent] else { return true }
      return above.source != entry.source
        || entry.path != above.path + Array("/\(place)".utf8)
    }
  }
}
