internal import Platform
internal import Synchronization

/// A store that any number of processes read and write, one writing at a time.
///
/// It is always open for reading. The first write opens it for writing too, until writes pause or another process
/// waits.
///
/// INVARIANT T1: everything is written by a ``Store`` that was opened after the store's own lock was acquired (S4)
/// and that ends with it; data that was read before is not trusted.
/// INVARIANT T2: a writer that sees a process in the ``TurnQueue`` releases the lock after the current transaction,
/// at the latest after ``slice``, and then waits in the queue too.
/// INVARIANT T3: a mounted store belongs to its daemon: others are refused at once, with its process id.
/// - Concurrency: callable from any thread; its lock is a leaf. The bodies of ``read(_:)`` and ``write(_:)`` must
///   call neither.
package final class SharedStore: Sendable {
  private struct State {
    /// Open for writing; holds the store's lock.
    var writer: Store?
    var reader: Store?
    var users = 0
    /// Counts how often the writer was opened.
    var turn = 0
    /// True while a thread opens or closes the writer.
    var isChanging = false
    /// True if the writer is to be closed when no call uses it.
    var isYielding = false
    /// The times at which the writer was opened and last used, in nanoseconds.
    var opened: UInt64 = 0
    var used: UInt64 = 0
  }

  /// The store's directory, without symbolic links.
  package let path: String
  private let queue: TurnQueue?
  private let state = Monitor(State())

  /// The longest time that a writer continues while others wait, in nanoseconds.
  private static let slice: UInt64 = 50_000_000
  /// The time that an unused writer stays open, in nanoseconds.
  private static let idle: UInt64 = 100_000_000
  /// The pause between two checks for waiting writers, in nanoseconds.
  private static let pause: UInt64 = 5_000_000
  /// The longest time that a write waits for its turn, in nanoseconds.
  private static let patience: UInt64 = 30_000_000_000

  /// The stores that are open in this process. A leaf lock.
  private static let opened = Mutex<[Place: Weak]>([:])

  private struct Place: Hashable {
    var path: String
    var directory: FileStatus.Identity
  }

  private struct Weak: Sendable { weak var store: SharedStore? }

  /// Opens a store for reading. A process has one object for each directory. With `create`, makes a missing store,
  /// but no directories above it.
  package static func open(path: String, create: Bool = false) throws(StoreError) -> SharedStore {
    if let place = try place(path), let known = opened.withLock({ $0[place]?.store }) {
      return known
    }
    let shared = try SharedStore(path: path, try first(path, create: create))
    guard let place = try place(path) else { throw .notFound("store in \(path)") }
    return opened.withLock { opened in
      // Another thread may have opened it concurrently.
      if let other = opened[place]?.store { return other }
      opened = opened.filter { $0.value.store != nil }
      opened[place] = Weak(store: shared)
      return shared
    }
  }

  /// Returns the identity of the store in a directory; nil if there is none.
  private static func place(_ path: String) throws(StoreError) -> Place? {
    try StoreError.wrapping { () throws(SystemError) in
      guard try FileSystem.exists("\(path)/store.sqlite") else { return nil }
      let status = try FileSystem.status("\(path)/store.sqlite")
      return Place(path: try FileSystem.resolve(path), directory: status.identity)
    }
  }

  /// Opens the store for reading; makes a missing one, which is then open for writing.
  private static func first(_ path: String, create: Bool) throws(StoreError) -> Store {
    let end = SystemClock.monotonic() + patience
    while true {
      do throws(StoreError) {
        let isThere = try place(path) != nil
        if !create || isThere { return try Store.open(path: path, mode: .reader) }
      } catch {
        // Another process may be making the store: its first files exist.
        guard create, case .notFound = error else { throw error }
      }
      do throws(StoreError) {
        return try Store.open(path: path, create: true)
      } catch {
        guard case .busy = error, SystemClock.monotonic() < end else { throw error }
      }
    }
  }

  private init(path: String, _ first: Store) throws(StoreError) {
    // If the file cannot be made, the store cannot be written either.
    queue = try? TurnQueue(of: path)
    self.path = first.path
    let isWriter = first.mode == .writer
    let now = SystemClock.monotonic()
    state.withLock { state in
      state.reader = isWriter ? nil : first
      state.writer = isWriter ? first : nil
      state.opened = now
      state.used = now
    }
    if isWriter { watch(0) }
  }

  package func read<Result>(
    _ body: (Store) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let (store, isWriter) = try reading()
    defer { if isWriter { endUse() } }
    return try body(store)
  }

  private func reading() throws(StoreError) -> (Store, isWriter: Bool) {
    let found = state.withLock { state -> (Store, Bool)? in
      if let writer = state.writer, !state.isYielding {
        state.users += 1
        return (writer, true)
      }
      return state.reader.map { ($0, false) }
    }
    if let found { return found }
    let opened = try Store.open(path: path, mode: .reader)
    return state.withLock { state in
      if let reader = state.reader { return (reader, false) }
      state.reader = opened
      return (opened, false)
    }
  }

  /// Calls the body with a store to write to when it is this process's turn.
  /// - Throws: ``StoreError/busy(_:)`` if the store is mounted or another process had it for half a minute; the
  ///   error of opening the store, or of the body.
  package func write<Result>(
    _ body: (Store) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let store = try writing()
    defer { endUse() }
    return try body(store)
  }

  private func writing() throws(StoreError) -> Store {
    let known = state.wait { state -> Store?? in
      if state.isChanging || state.isYielding { return nil }
      if let writer = state.writer {
        state.users += 1
        return .some(writer)
      }
      state.isChanging = true
      return .some(nil)
    }
    if let writer = known ?? nil { return writer }
    do throws(StoreError) {
      let writer = try opened()
      let now = SystemClock.monotonic()
      let turn = state.withLock { state in
        state.writer = writer
        state.users = 1
        state.turn += 1
        state.opened = now
        state.used = now
        state.isChanging = false
        return state.turn
      }
      state.broadcast()
      watch(turn)
      return writer
    } catch {
      state.withLock { $0.isChanging = false }
      state.broadcast()
      throw error
    }
  }

  private func opened() throws(StoreError) -> Store {
    let end = SystemClock.monotonic() + Self.patience
    try refuseMounted()
    try queue?.enter()
    defer { queue?.leave() }
    while true {
      do throws(StoreError) {
        return try Store.open(path: path)
      } catch {
        guard case .busy = error, SystemClock.monotonic() < end else { throw error }
        try refuseMounted()
      }
    }
  }

  private func refuseMounted() throws(StoreError) {
    guard let holder = try Store.mounter(of: path) else { return }
    throw .busy(
      "\(path) is mounted by process \(holder), which alone writes to it; "
        + "save through its files, or unmount it")
  }

  private func endUse() {
    let now = SystemClock.monotonic()
    let turn = state.withLock { state -> Int? in
      state.users -= 1
      state.used = now
      let isDue = state.isYielding || now - state.opened > Self.slice
      return state.users == 0 && isDue ? state.turn : nil
    }
    if let turn { _ = giveUp(turn) }
  }

  /// Closes the idle writer, or one whose slice is over while others wait; false: end of turn.
  private func giveUp(_ turn: Int) -> Bool {
    guard state.withLock({ $0.turn == turn && $0.writer != nil }) else { return false }
    let isWaitedFor = queue?.isWaitedFor ?? false
    let now = SystemClock.monotonic()
    let isOver = state.withLock { state -> Bool? in
      guard state.turn == turn, state.writer != nil, !state.isChanging else { return nil }
      if isWaitedFor, now - state.opened > Self.slice { state.isYielding = true }
      let isIdle = now > state.used && now - state.used > Self.idle
      guard state.users == 0, isIdle || state.isYielding else { return false }
      state.isChanging = true
      return true
    }
    guard let isOver else { return false }
    guard isOver else { return true }
    var last = state.withLock { state -> Store? in
      defer { state.writer = nil }
      return state.writer
    }
    withExtendedLifetime(last) {}
    // The last reference holds the lock.
    last = nil
    state.withLock { state in
      state.isChanging = false
      state.isYielding = false
    }
    state.broadcast()
    return false
  }

  /// Starts the thread that ends the turn. Without it the turn ends with a write after its slice.
  private func watch(_ turn: Int) {
    try? SystemThread.detach(name: "llvs-turn") { [weak self] in
      repeat {
        SystemClock.sleep(nanoseconds: Self.pause)
      } while self?.giveUp(turn) ?? false
    }
  }
}

/// The queue of processes that wait to write a store. The next one has a lock on `STORE/turn`, so a writer that
/// takes turns (``SharedStore``) releases the store's own lock.
struct TurnQueue: Sendable {
  private let file: File

  init(of store: String) throws(StoreError) {
    file = try StoreError.translating(
      try File.kept("\(store)/turn", [.readWrite, .create, .noFollow]))
  }

  /// Becomes the next one without waiting; returns false if another process is next.
  func tryEnter() throws(StoreError) -> Bool {
    try StoreError.translating(try file.lock(.exclusive))
  }

  func enter() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      _ = try file.lock(.exclusive, waiting: true)
    }
  }

  func leave() { file.unlock() }

  var isWaitedFor: Bool {
    guard let isEntered = try? file.lock(.exclusive) else { return false }
    if isEntered { file.unlock() }
    return !isEntered
  }
}
