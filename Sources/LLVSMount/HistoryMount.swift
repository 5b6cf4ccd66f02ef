package import FuseSession
import HistoryTree
import LLVSCore
import Platform
import WorkingTree

// History as a file system of its own, mounted inside the tree that it belongs to.
//
// State: made -> serving -> ended. What ends it: the daemon (`end()`), somebody who unmounts it, then the
// directory below shows history as it does without; or the end of the outer mount, which takes it along.
// A thread of its own mounts it, since its place is looked for through the outer mount, and then serves it.

/// `.llvs/versions` of a mount as a second, read-only mount.
///
/// The kernel refuses every change itself, keeps what it was told of files that were read, and opens files
/// without asking: that holds for whole mounts only.
///
/// - Concurrency: callable from any thread. Its lock is a leaf.
package final class HistoryMount: Sendable {
  private enum State {
    case made
    /// With the number of the mount where that could be found out.
    case serving(FuseSession, mount: UInt32?)
    case ended(obstacle: String?)
  }

  private struct Life {
    var state = State.made
    var isOver = false
  }

  /// So many threads at most: nothing that this serves waits for anything but the disk.
  private static let threads: UInt32 = 4

  private let outer: MetaTree
  private let live: LiveTree
  private let path: String
  private let options: MountOptions
  private let connection: ConnectionOptions
  private let memory: KernelMemory
  private let log: EventLog
  private let life = Monitor(Life())

  init(
    of hidden: MetaTree, in live: LiveTree, below mountPoint: String, mount: MountOptions,
    connection: ConnectionOptions, memory: KernelMemory, log: EventLog
  ) {
    outer = hidden
    self.live = live
    path = Self.path(below: mountPoint)
    self.memory = memory
    self.log = log
    var options = mount
    options.flags.isReadOnly = true
    // Nothing of history is a device or runs as somebody else, whatever the tree allows.
    options.flags.allowsDevices = false
    options.flags.allowsSetIDs = false
    self.options = options
    var connection = connection
    connection.withoutOpens = true
    connection.comparesTimes = true
    connection.threads = Self.threads
    self.connection = connection
  }

  // MARK: - Serving

  /// Mounts and serves it on a thread of its own; what fails is in the log.
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
      // The session is held by who tells it: its descriptor is open until nobody is telling any more.
      live.store.listenForVersions { session.notifier.invalidateAttributesAtOnce(.root) }
      memory.adopt(
        KernelMemory.History(
          tree: tree, cache: session.notifier, path: path, mount: mountNumber))
      defer {
        live.store.listenForVersions(nil)
        memory.adopt(nil)
      }
      try session.run()
      ended(nil)
    } catch {
      // Its place may have gone before it was there, with the mount that ended just then.
      ended(life.withLock { $0.isOver } ? nil : "\(error)")
    }
  }

  /// Mounts it; nil where that is not wanted any more.
  private func show() throws -> (FuseSession, VersionsFileSystem)? {
    let tree = try VersionsFileSystem(of: outer)
    let session = try FuseSession(
      HistoryOperations(tree, live: live), serving: HistoryOperations.served, mount: options,
      connection: connection)
    guard !life.withLock({ $0.isOver }) else { return nil }
    try session.mount(at: path)
    let number = try? MountTable().mount(at: Array(path.utf8))?.id
    let isWanted = life.withLock { life in
      guard !life.isOver else { return false }
      life.state = .serving(session, mount: number)
      return true
    }
    life.broadcast()
    // A session that is given up unmounts.
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

  // MARK: - Ending

  /// Takes it out of sight; it is served until the last of its files is closed.
  func end() {
    let serving = life.withLock { life -> (FuseSession, UInt32?)? in
      life.isOver = true
      if case .serving(let session, let mount) = life.state { return (session, mount) }
      return nil
    }
    guard let (session, number) = serving else { return }
    // What stands there now may be somebody else's.
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

  /// Whether nothing of it is served any more.
  var hasEnded: Bool {
    life.withLock { life in
      if case .ended = life.state { true } else { false }
    }
  }

  /// Waits until it has ended.
  func wait() {
    life.wait { life -> Void? in
      if case .ended = life.state { () } else { nil }
    }
  }

  /// Waits until it stands.
  ///
  /// - Returns: why it does not; nil where it does.
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

  // MARK: - In the table of mounts

  /// Where the versions of a mounted store stand.
  package static func path(below mountPoint: String) -> String {
    mountPoint + "/" + Self.place
  }

  static let place = ".llvs/versions"

  /// The mounts but those that show history of the one that they stand in.
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
