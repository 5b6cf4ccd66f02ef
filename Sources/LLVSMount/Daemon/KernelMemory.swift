import FuseSession
import HistoryTree
import Platform

// Limits the memory for names that the kernel remembers: a thread makes it forget the least used directories, but
// none with a working directory (getcwd(2) would fail) or a mount point (it would be unmounted).

/// Makes the kernel forget names of history if it remembers too many.
final class KernelMemory: Sendable {
  private struct State {
    var isCrowded = false
    /// The time of the next check, on the monotonic clock: names that were in use may be free then.
    var again: UInt64?
    var delay = KernelMemory.shortest
    var isOver = false
  }

  /// The longest wait for the kernel's FORGETs, and the interval at which they are counted, in nanoseconds.
  private static let patience: UInt64 = 3_000_000_000
  private static let step: UInt64 = 20_000_000
  /// The first and longest wait before another check while all names are in use, in nanoseconds.
  private static let shortest: UInt64 = 1_000_000_000
  private static let longest: UInt64 = 64_000_000_000
  /// The number of names in one batch of notifications: more urgent ones wait for one batch at most.
  private static let batch = 64

  struct History {
    var tree: VersionsFileSystem
    var cache: Notifier
    var path: String
    var mount: UInt32?
  }

  private let meta: MetaTree
  private let cache: Notifier
  private let mountPoint: String
  private let limit: Int
  /// True if the working directories of all users that may enter the mount can be read.
  private let seesUsers: Bool
  private let monitor = Monitor(State())
  private let thread = Monitor<Bool>(false)
  private let adopted = Monitor<History?>(nil)
  private var history: History? { adopted.withLock { $0 } }

  init(meta: MetaTree, cache: Notifier, mountPoint: String, limit: Int, seesUsers: Bool) {
    self.meta = meta
    self.cache = cache
    self.mountPoint = mountPoint
    self.limit = max(1, limit)
    self.seesUsers = seesUsers
  }

  func adopt(_ history: History?) {
    adopted.withLock { $0 = history }
    _ = watch()
  }

  /// The number of nodes of history in memory, in both file systems.
  var metaNodeCount: Int { meta.nodeCount + (history?.tree.meta.nodeCount ?? 0) }

  func start() throws(SystemError) {
    _ = watch()
    thread.withLock { $0 = true }
    do throws(SystemError) {
      try SystemThread.detach(name: "llvs-memory") { [self] in
        while next() { forgetColdNames() }
        thread.withLock { $0 = false }
        thread.broadcast()
      }
    } catch {
      thread.withLock { $0 = false }
      throw error
    }
  }

  func stop() {
    update { $0.isOver = true }
    thread.wait { $0 ? nil : () }
  }

  private func update(_ body: (inout State) -> Void) {
    monitor.withLock(body)
    monitor.broadcast()
  }

  /// Waits until there are too many names; false at the end.
  private func next() -> Bool {
    while true {
      let (start, again) = (SystemClock.monotonic(), monitor.withLock { $0.again })
      let found = monitor.wait(nanoseconds: again.map { $0 > start ? $0 - start : 0 }) {
        state -> State? in
        if let again = state.again, SystemClock.monotonic() >= again { state.isCrowded = true }
        guard state.isOver || state.isCrowded else { return nil }
        defer { (state.isCrowded, state.again) = (false, nil) }
        return state
      }
      if let found { return !found.isOver }
    }
  }

  /// Sleeps; false at the end.
  private func pause(_ nanoseconds: UInt64) -> Bool {
    monitor.wait(nanoseconds: nanoseconds) { $0.isOver ? () : nil } == nil
  }

  /// Listens for too many names in any tree; returns the largest current number.
  private func watch() -> Int {
    let signal: @Sendable () -> Void = { [weak self] in self?.update { $0.isCrowded = true } }
    var most = meta.watchCrowd(limit: limit, isCrowded: signal)
    if let history {
      most = max(most, history.tree.meta.watchCrowd(limit: limit, isCrowded: signal))
    }
    return most
  }

  /// Makes the kernel forget the least used names, until a quarter of the limit is free again.
  private func forgetColdNames() {
    let goal = limit - limit / 4
    let before = metaNodeCount
    let use = kernelUse()
    forget(meta.coldNames(toFree: meta.nodeCount - goal, sparing: use), in: cache)
    if let history {
      let nodes = history.tree.meta
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
      let hasHelped = metaNodeCount < before
      state.delay = hasHelped ? Self.shortest : min(Self.longest, state.delay * 2)
      state.again = SystemClock.monotonic() + state.delay
    }
  }

  private func forget(_ names: [KernelName], in cache: Notifier) {
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
      let count = metaNodeCount
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
    // The mount point of history's own mount is a name that is never forgotten.
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

  /// The mounts on a file system: the device of each, and its path relative to that file system's root.
  private static func mounts(
    on own: MountEntry, in table: MountTable
  ) -> [(device: String, path: [UInt8])] {
    // Also below other mounts of the same file system, such as bind mounts.
    let views = table.entries.filter { $0.device == own.device }
    return table.entries.compactMap { entry in
      guard let view = views.first(where: { $0.id == entry.parent }), entry.id != view.id,
        entry.path.starts(with: view.path)
      else { return nil }
      let path = view.root + [0x2F] + entry.path[view.path.count...]
      return (entry.device, Array(path.split(separator: 0x2F).joined(separator: [0x2F])))
    }
  }
}
