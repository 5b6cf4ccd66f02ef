import FuseSession
import HistoryTree
import Platform
import WorkingTree

// Bounds what the kernel's memory of names costs the daemon.
//
// A thread of its own: it looks which directories are cold, has the notifier take them from the kernel, and
// waits until the kernel's forgets have come. Nothing that serves requests waits for it. What must not be
// taken although it is not open: a directory in which a process works (getcwd(2) would fail until somebody
// walks there again), and one on or below which something is mounted (the kernel would unmount that).

/// Has the kernel forget names where it remembers too many, and gives freed memory back to the system.
final class KernelMemory: Sendable {
  /// Names above which the kernel is made to forget, unless the mount says otherwise.
  static let softLimit = 500_000

  private struct State {
    var isCrowded = false
    /// When to look again, on the monotonic clock: what was in use then may be free.
    var again: UInt64?
    var delay = KernelMemory.shortest
    var isThinned = false
    var isOver = false
  }

  /// How long to wait for the kernel's forgets, and how often to look.
  private static let patience: UInt64 = 3_000_000_000
  private static let step: UInt64 = 20_000_000
  /// How long nothing must have been freed for memory to be given back.
  private static let idle: UInt64 = 500_000_000
  /// How long to wait before looking again at what is too much and in use; doubled while it stays.
  private static let shortest: UInt64 = 1_000_000_000
  private static let longest: UInt64 = 64_000_000_000
  /// Names that are told at once: whoever has more urgent news for the kernel waits for these only.
  private static let batch = 64

  /// Versions that are shown by a file system of their own.
  struct History {
    var tree: VersionsFileSystem
    var cache: any KernelCache
    var path: String
    /// The number of its mount.
    var mount: UInt32?
  }

  private let tree: LiveTree
  private let hidden: MetaTree
  private let cache: any KernelCache
  private let mountPoint: String
  private let limit: Int
  /// Whether everybody who may enter the mount can be looked at.
  private let seesUsers: Bool
  private let monitor = Monitor(State())
  private let thread = Monitor<Bool>(false)
  private let adopted = Monitor<History?>(nil)
  private var history: History? { adopted.withLock { $0 } }

  init(
    tree: LiveTree, hidden: MetaTree, cache: any KernelCache, mountPoint: String, limit: Int,
    seesUsers: Bool
  ) {
    self.tree = tree
    self.hidden = hidden
    self.cache = cache
    self.mountPoint = mountPoint
    self.limit = max(1, limit)
    self.seesUsers = seesUsers
  }

  /// Has it see to a further file system too, or to none; the limit holds for each.
  func adopt(_ history: History?) {
    adopted.withLock { $0 = history }
    _ = watch()
  }

  /// How many nodes of history are in memory, in both file systems.
  var hiddenNodeCount: Int { hidden.nodeCount + (history?.tree.hidden.nodeCount ?? 0) }

  /// Starts the thread; ``stop()`` must follow.
  func start() throws(SystemError) {
    tree.tellCrowd(
      isCrowded: { [weak self] in self?.note { $0.isCrowded = true } },
      isThinned: { [weak self] in self?.note { $0.isThinned = true } })
    _ = watch()
    thread.withLock { $0 = true }
    do throws(SystemError) {
      try SystemThread.detach(name: "llvs-memory") { [self] in
        while let work = next() { work.isCrowded ? makeRoom() : giveBack() }
        thread.withLock { $0 = false }
        thread.broadcast()
      }
    } catch {
      thread.withLock { $0 = false }
      throw error
    }
  }

  /// Ends the thread after what it is doing.
  func stop() {
    note { $0.isOver = true }
    thread.wait { $0 ? nil : () }
  }

  private func note(_ body: (inout State) -> Void) {
    monitor.withLock(body)
    monitor.broadcast()
  }

  /// What there is to do; nil at the end.
  private func next() -> State? {
    while true {
      let (start, again) = (SystemClock.monotonic(), monitor.withLock { $0.again })
      let found = monitor.wait(nanoseconds: again.map { $0 > start ? $0 - start : 0 }) {
        state -> State? in
        if let again = state.again, SystemClock.monotonic() >= again { state.isCrowded = true }
        guard state.isOver || state.isCrowded || state.isThinned else { return nil }
        defer {
          if state.isCrowded { state.again = nil }
          state.isCrowded = false
          state.isThinned = false
        }
        return state
      }
      if let found { return found.isOver ? nil : found }
    }
  }

  /// Sleeps; false at the end.
  private func pause(_ nanoseconds: UInt64) -> Bool {
    monitor.wait(nanoseconds: nanoseconds) { $0.isOver ? () : nil } == nil
  }

  /// Waits for the next time that there are too many somewhere; says how many there are where they are most.
  private func watch() -> Int {
    let tell: @Sendable () -> Void = { [weak self] in self?.note { $0.isCrowded = true } }
    var most = tree.watchCrowd(limit: limit)
    most = max(most, hidden.watchCrowd(limit: limit, isCrowded: tell))
    if let history {
      most = max(most, history.tree.hidden.watchCrowd(limit: limit, isCrowded: tell))
    }
    return most
  }

  // MARK: - Forgetting

  private var count: Int { tree.nodeCount + hiddenNodeCount }

  /// Takes the coldest names from the kernel until a quarter of the limit is free again.
  private func makeRoom() {
    let goal = limit - limit / 4
    let before = count
    let use = kernelUse()
    forget(
      tree.coldNames(toFree: tree.nodeCount - goal, sparing: use)
        + hidden.coldNames(toFree: hidden.nodeCount - goal, sparing: use), in: cache)
    if let history {
      let nodes = history.tree.hidden
      var names = nodes.coldNames(toFree: nodes.nodeCount - goal, sparing: kernelUse(of: history))
      for index in names.indices where names[index].parent == history.tree.top {
        names[index].parent = NodeID.root.rawValue
      }
      forget(names, in: history.cache)
    }
    awaitForgets()
    SystemMemory.trim()
    let most = watch()
    monitor.withLock { state in
      guard most > limit else {
        state.delay = Self.shortest
        return
      }
      let hasHelped = count < before
      state.delay = hasHelped ? Self.shortest : min(Self.longest, state.delay * 2)
      state.again = SystemClock.monotonic() + state.delay
    }
  }

  private func forget(_ names: [KernelName], in cache: any KernelCache) {
    for start in stride(from: 0, to: names.count, by: Self.batch) {
      guard !monitor.withLock({ $0.isOver }) else { return }
      for one in names[start..<min(start + Self.batch, names.count)] {
        cache.invalidate(one.name, in: NodeID(one.parent))
      }
      cache.flush()
    }
  }

  private func awaitForgets() {
    let start = SystemClock.monotonic()
    var last = Int.max
    var still = 0
    while SystemClock.monotonic() - start < Self.patience, still < 3 {
      let count = count
      still = count < last ? 0 : still + 1
      last = min(last, count)
      guard pause(Self.step) else { return }
    }
  }

  private func kernelUse() -> KernelUse {
    var use = KernelUse(isKnown: seesUsers)
    use.directories = SystemProcess.workingDirectories(onDeviceOf: mountPoint)
    guard let table = try? MountTable(),
      let own = table.mount(at: Array(mountPoint.utf8))
    else {
      use.isKnown = false
      return use
    }
    // History's own mount stands on a name that is never taken.
    let history = history.flatMap { history in table.entries.first { $0.id == history.mount } }
    use.mounts = Self.mounts(on: own, in: table).filter { $0.device != history?.device }.map(\.path)
    return use
  }

  private func kernelUse(of history: History) -> KernelUse {
    var use = KernelUse(isKnown: seesUsers)
    use.directories = SystemProcess.workingDirectories(onDeviceOf: history.path)
    guard let table = try? MountTable(),
      let own = table.entries.first(where: { $0.id == history.mount })
    else {
      use.isKnown = false
      return use
    }
    let place = Array(HistoryMount.place.utf8)
    use.mounts = Self.mounts(on: own, in: table).map { place + [0x2F] + $0.path }
    return use
  }

  /// What is mounted on a file system: its device, and where by the path from the root there.
  private static func mounts(
    on own: MountEntry, in table: MountTable
  ) -> [(device: String, path: [UInt8])] {
    // Also below other views of the same file system, as bind mounts are.
    let views = table.entries.filter { $0.device == own.device }
    return table.entries.compactMap { entry in
      guard let view = views.first(where: { $0.id == entry.parent }), entry.id != view.id,
        entry.path.starts(with: view.path)
      else { return nil }
      let path = view.root + [0x2F] + entry.path[view.path.count...]
      return (entry.device, Array(path.split(separator: 0x2F).joined(separator: [0x2F])))
    }
  }

  // MARK: - Freed memory

  /// Gives freed memory back once nothing more is being freed.
  private func giveBack() {
    var last = -1
    for _ in 0..<20 {
      let freed = tree.freedCount
      if freed == last { break }
      last = freed
      guard pause(Self.idle) else { return }
    }
    SystemMemory.trim()
    tree.resetFreed()
  }
}
