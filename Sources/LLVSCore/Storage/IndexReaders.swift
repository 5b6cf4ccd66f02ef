internal import SQLite
internal import Synchronization

/// The connections that read the index.
///
/// Beginning a read transaction takes four fcntl(2) calls, for which all connections of a process queue up. So code
/// that looks up thousands of chunks keeps them (``keepingTransactions(_:)``). A read sees this process's last
/// write.
/// - Concurrency: any thread. One thread has a connection at a time.
final class IndexReaders: Sendable {
  private struct Idle: @unchecked Sendable {
    let database: StoreDatabase
    /// The number of writes when its transaction began; nil without one.
    let writes: UInt64?
  }

  private struct State {
    var idle: [Idle] = []
    /// The number of callers that keep transactions.
    var keepers = 0
  }

  /// The most connections that are kept; others are closed after use.
  private static let kept = 4
  private let path: String
  private let state = Mutex(State())
  private let writes = Atomic<UInt64>(0)

  init(path: String) { self.path = path }

  /// Notes a write of this process; later reads see it.
  func noteWritten() { writes.add(1, ordering: .acquiringAndReleasing) }

  /// Runs a closure while connections keep their transactions, so the write-ahead log is not restarted.
  func keepingTransactions<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    state.withLock { $0.keepers += 1 }
    defer {
      let ended = state.withLock { state -> [Idle] in
        state.keepers -= 1
        guard state.keepers == 0 else { return [] }
        defer { state.idle.removeAll { $0.writes != nil } }
        return state.idle.filter { $0.writes != nil }
      }
      for one in ended { one.database.rollBack() }
      for one in ended { giveBack(one.database, nil) }
    }
    return try body()
  }

  func read<Result>(
    _ body: (StoreDatabase) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let now = writes.load(ordering: .acquiring)
    let (known, isKeeping) = state.withLock { ($0.idle.popLast(), $0.keepers > 0) }
    let database: StoreDatabase
    if let known { database = known.database } else { database = try open() }
    var began = known?.writes
    defer { giveBack(database, began) }
    if began != nil, !isKeeping || began != now {
      database.rollBack()
      began = nil
    }
    if isKeeping, began == nil {
      try database.prepared("BEGIN").run()
      began = now
    }
    return try body(database)
  }

  private func open() throws(StoreError) -> StoreDatabase {
    let database = try StoreDatabase(path: path, mode: .readWrite)
    try database.execute("PRAGMA query_only=1; PRAGMA mmap_size=0")
    return database
  }

  private func giveBack(_ database: StoreDatabase, _ began: UInt64?) {
    let one = Idle(database: database, writes: began)
    let isKept = state.withLock { state -> Bool in
      if state.keepers == 0, began != nil { return false }
      // Connections in excess are closed.
      if state.idle.count < Self.kept { state.idle.append(one) }
      return true
    }
    if isKept { return }
    database.rollBack()
    giveBack(database, nil)
  }
}
