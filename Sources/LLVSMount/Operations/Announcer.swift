import FuseSession
import Grammar
import Inodes
import LLVSCore
import Platform
import Synchronization
import WorkingTree

// Raises inotify events for changes that no program made: a merge, a restore, an undo.
//
// The kernel raises these only for calls of programs, so a thread of the daemon makes calls on the mount that
// create, remove or touch the names. The daemon recognises its own thread and answers without effect.
//
// INVARIANT A1: no request of this thread changes the tree, a version or a time. Each handler that could do so
// checks `isOwn` first.
// INVARIANT A2: announcements are true: a name is created or removed for the kernel only if the tree has it or
// lacks it at that moment, checked while the kernel holds the lock of the directory.
// INVARIANT A3: the calls never leave the mount: a directory is held by its descriptor, reached without symbolic
// links and other mounts, and compared by its inode number; the top by its device.
// INVARIANT A4: no thread that serves requests waits for this one, and it holds no lock in its calls. So it waits
// like any program; if the daemon dies then, its watcher ends the connection.

/// Notifies programs that watch directories of changes that cause no events otherwise.
/// - Concurrency: callable from any thread; its lock is a leaf.
final class Announcer: Sendable {
  /// The call that the thread is making, by its name.
  enum Call: Sendable {
    /// The kernel may forget a directory of that name, and get it again at once, if `isFree`.
    case making([UInt8], EntryKind, isFree: Bool)
    case removing([UInt8], EntryKind)
  }

  private struct State {
    /// The device of the mount; nil before it is mounted.
    var device: String?
    var waiting: [[ShownChange]] = []
    var call: Call?
    var isRunning = false
    var isOver = false
  }

  /// The most changes of one transition that are announced.
  static let most = 4096
  /// The most transitions that wait; further ones are not announced.
  private static let mostWaiting = 16
  /// The time for one transition, in nanoseconds; the rest is not announced.
  private static let patience: UInt64 = 2_000_000_000
  /// The time that the end waits for the thread, in nanoseconds.
  private static let grace: UInt64 = 1_000_000_000
  private static let history = Array("/.llvs/versions".utf8)
  private let tree: TreeSession
  private let mountPoint: String
  private let session: SessionReference
  /// True if the watches of all users that may enter the mount can be seen.
  private let seesUsers: Bool
  private let state = Monitor(State())
  /// The thread's id while it makes calls, else 0.
  private let thread = Atomic<Int32>(0)
  private let goneCount = Atomic<UInt64>(0)

  init(tree: TreeSession, mountPoint: String, session: SessionReference, seesUsers: Bool) {
    self.tree = tree
    self.mountPoint = mountPoint
    self.session = session
    self.seesUsers = seesUsers
  }

  /// Sets the mount's device, which distinguishes it from others at the same path.
  func follow(device: String) { state.withLock { $0.device = device } }

  func start() throws(SystemError) {
    state.withLock { $0.isRunning = true }
    do throws(SystemError) {
      try SystemThread.detach(name: "llvs-announce") { [self] in
        while let changes = next() { announce(changes) }
        state.withLock { $0.isRunning = false }
        state.broadcast()
      }
    } catch {
      state.withLock { $0.isRunning = false }
      throw error
    }
    tree.listenForShown { [weak self] in self?.add($0) }
  }

  /// Ends the thread after its current call; does not wait for a call that the kernel blocks.
  func stop() {
    state.withLock { state in
      state.isOver = true
      state.waiting = []
    }
    state.broadcast()
    _ = state.wait(nanoseconds: Self.grace) { $0.isRunning ? nil : true }
  }

  private func add(_ changes: [ShownChange]) {
    guard tree.storeSettings.announce else { return }
    state.withLock { state in
      guard !state.isOver, state.waiting.count < Self.mostWaiting else { return }
      state.waiting.append(changes)
    }
    state.broadcast()
  }

  private func next() -> [ShownChange]? {
    let found = state.wait { state -> [ShownChange]? in
      if state.isOver { return [] }
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
    guard let found, !found.isEmpty else { return nil }
    return found
  }

  private var isOver: Bool { state.withLock { $0.isOver } }

  /// Makes the calls for watched files: first for removed ones, then for new and changed ones.
  private func announce(_ changes: [ShownChange]) {
    let end = SystemClock.monotonic() + Self.patience
    do throws(SystemError) {
      let top = try HeldPath(directory: mountPoint)
      let status = try top.status()
      // Another file system may now be mounted there.
      guard status.deviceName == state.withLock({ $0.device }) else { return }
      let watched = watchedFiles(onDevice: status.deviceName)
      let told = changes.filter {
        watched.isWhole || watched.inodes.contains($0.directory.rawValue)
      }
      guard !told.isEmpty else { return }
      thread.store(SystemThread.kernelID, ordering: .releasing)
      defer { thread.store(0, ordering: .releasing) }
      let gone = told.filter { $0.after == nil }
      let rest = told.filter { $0.after != nil }
      for change in (gone + rest).prefix(Self.most) {
        guard !isOver, SystemClock.monotonic() < end else { return }
        // A change that cannot be announced, as in a directory that moved in the meantime, is omitted.
        try? tell(change, below: top)
      }
    } catch {
      // The mount has ended, or the kernel is too old: programs get no events.
    }
  }

  private func watchedFiles(onDevice device: String) -> WatchedFiles {
    guard !seesUsers else { return SystemProcess.watchedFiles(onDevice: device) }
    var all = WatchedFiles()
    all.isWhole = true
    return all
  }

  private func tell(_ change: ShownChange, below top: borrowing HeldPath) throws(SystemError) {
    let directory = try top.below(change.path.parent.bytes)
    let status = try directory.status()
    guard status.inode == change.directory.rawValue else { return }
    let name = change.path.name.bytes
    guard let kind = change.after else {
      guard let kind = change.before else { return }
      // A name that the kernel knows to be absent could not be removed.
      let notifier = session.value?.notifier
      notifier?.invalidate(name, in: NodeID(change.directory.rawValue))
      notifier?.flush()
      return try making(.removing(name, kind)) { () throws(SystemError) in
        try directory.remove(name, isDirectory: kind == .directory)
      }
    }
    if change.before == kind {
      let file = try directory.below(name)
      // For the mtime alone the kernel announces changed bytes, for both times changed attributes.
      try file.touch(both: !change.hasOtherBytes || kind == .directory)
      if change.hasOtherBytes { try finishWriting(file) }
      return
    }
    do throws(SystemError) {
      let isFree = kind != .directory || !hasMountsInside(status.deviceName)
      try making(.making(name, kind, isFree: isFree)) { () throws(SystemError) in
        try directory.make(name, mode: kind.typeBits | 0o600)
      }
    } catch {
      // A file that is open already, or a known directory while something is mounted in the tree.
      guard error.errno == Errno.exists else { throw error }
      return try directory.below(name).touch(both: true)
    }
    if kind == .regular { try finishWriting(try directory.below(name)) }
  }

  /// True if anything but history is mounted in the tree.
  private func hasMountsInside(_ device: String) -> Bool {
    guard let table = try? MountTable() else { return true }
    let own = Set(table.entries.lazy.filter { $0.device == device }.map(\.id))
    return table.entries.contains { entry in
      // History may be a mount of its own, which is in no directory that versions have.
      own.contains(entry.parent) && !entry.path.reversed().starts(with: Self.history.reversed())
    }
  }

  /// Raises the events of a program that finishes writing a file.
  private func finishWriting(_ file: borrowing HeldPath) throws(SystemError) {
    let status = try file.status()
    // While a program's file is open for writing it cannot be run.
    guard status.kind == .regular, status.mode & 0o111 == 0 else { return }
    try file.openForWriting()
  }

  private func making(_ call: Call, _ body: () throws(SystemError) -> Void) throws(SystemError) {
    state.withLock { $0.call = call }
    defer { state.withLock { $0.call = nil } }
    try body()
  }

  /// True if a request comes from this thread; one load while nothing is announced.
  func isOwn(_ caller: @autoclosure () -> Int32) -> Bool {
    let thread = thread.load(ordering: .acquiring)
    return thread != 0 && thread == caller()
  }

  /// The number of a node in place of a removed file, until its name is removed; no other node has it.
  func numberOfGone() -> UInt64 {
    1 << 62 | goneCount.wrappingAdd(1, ordering: .relaxed).newValue & (1 << 62 - 1)
  }

  /// The thread's current call, if it is about a name.
  func call(about name: [UInt8]) -> Call? {
    let call = state.withLock { $0.call }
    switch call {
    case .making(name, _, _), .removing(name, _): return call
    default: return nil
    }
  }
}
