internal import Platform
import SQLite
internal import Synchronization

/// store.sqlite: versions and their order, heads, lines, settings, peers, the log of heads, counters.
///
/// It is never on the read path of a file. One connection writes, under the store's write lock; readers
/// take one of a few others, so nobody waits for the writer (WAL).
package final class Catalog: Sendable {
  /// A connection on its way between the pool and the one thread that uses it.
  private struct Loan: @unchecked Sendable {
    let database: StoreDatabase
    /// The writer's: a transaction that only reads is open on it.
    var isViewing = false
    /// The writer's.
    var logRoom: WALPreallocation?
  }

  let path: String
  let mode: Store.Mode
  /// Whether it was made now.
  let isNew: Bool
  /// Whether what is noted of bundles can be asked for: readers do not add the table.
  let hasBundles: Bool
  /// Whether rows bear checksums: a reader leaves a store of format 1 as it is.
  let hasSums: Bool
  // Leaf locks; the pool's is held to push and pop only. The writer's is held through a transaction:
  // its holder waits for the disk, and only other writers wait for it.
  private let pool = Mutex<[Loan]>([])
  private let writer: Mutex<Loan?>
  private static let kept = 6

  /// Opens a catalog, or with `properties`, what a new one is born with, makes it where it is not there.
  ///
  /// Where a `witness`, a file that only a store with a catalog has, is given, one without tables is damaged.
  init(
    path: String, mode: Store.Mode, creating properties: [String: [UInt8]]?, witness: String? = nil
  ) throws(StoreError) {
    self.path = path
    self.mode = mode
    writer = Mutex(nil)
    guard mode == .writer else {
      isNew = false
      let database = try StoreDatabase(path: path, mode: .readWrite)
      try database.execute("PRAGMA query_only=1")
      try Catalog.refuseLoss(database, witness)
      hasSums = try Catalog.check(database) >= 2
      hasBundles =
        try database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'bundles'") == 1
      pool.withLock { $0.append(Loan(database: database)) }
      return
    }
    let database = try StoreDatabase(path: path, mode: properties == nil ? .readWrite : .create)
    // Before anything is written.
    try Catalog.refuseLoss(database, witness)
    try database.execute(
      """
      PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY;
      PRAGMA mmap_size=0; PRAGMA trusted_schema=0; PRAGMA cell_size_check=1;
      PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-8192;
      """)
    isNew = if properties == nil { false } else { try Catalog.isEmpty(database) }
    if let properties, isNew {
      try database.transaction { () throws(StoreError) in
        try database.execute(Catalog.schema)
        for (name, value) in properties {
          try database.prepared("INSERT INTO properties VALUES(?,?)")
            .bind(1, Array(name.utf8)).bind(2, value).run()
        }
        // Checksums are added as to a store that is there, by the one way.
        try database.execute("PRAGMA user_version=1")
      }
    }
    if try Catalog.check(database) < 2 {
      try database.transaction { () throws(StoreError) in
        try database.execute(Catalog.additions)
        try Catalog.addSums(to: database)
        try database.execute("PRAGMA user_version=\(Catalog.formatVersion)")
      }
    }
    Store.takeSharedMemory(of: database, version: Catalog.formatVersion)
    hasBundles = true
    hasSums = true
    database.watchLog()
    let pageSize = Int(try database.integer("PRAGMA page_size") ?? 4096)
    let loan = Loan(database: database, logRoom: WALPreallocation(database: path, pageSize: pageSize))
    writer.withLock { $0 = loan }
  }

  /// Whether a database is none yet: its making was interrupted before its first transaction was done.
  private static func isEmpty(_ database: StoreDatabase) throws(StoreError) -> Bool {
    let (format, tables) = (
      try database.integer("PRAGMA user_version"),
      try database.integer("SELECT count(*) FROM sqlite_master")
    )
    return format == 0 && tables == 0
  }

  /// Refuses a catalog that has lost its tables: one is not made anew beside what another names.
  private static func refuseLoss(_ database: StoreDatabase, _ witness: String?) throws(StoreError) {
    guard let witness, try isEmpty(database) else { return }
    throw .corrupt(
      "\(database.path) holds nothing, and \(witness) is there: its log \(database.path)-wal, "
        + "which belongs to it, is gone or damaged")
  }

  /// Refuses a catalog of a format that is not known, and returns which it has.
  private static func check(_ database: StoreDatabase) throws(StoreError) -> Int64 {
    let found = try database.integer("PRAGMA user_version") ?? 0
    guard found <= formatVersion else {
      throw .fromTheFuture(
        "the store has format \(found), this program knows up to \(formatVersion)")
    }
    guard found >= 1 else {
      if try isEmpty(database) {
        throw .notFound("store in \(database.path): its making was interrupted")
      }
      throw .corrupt("\(database.path): format \(found) is none of a store's")
    }
    return found
  }

  /// Runs the body with a connection of its own that sees what is committed.
  func read<Result>(
    _ body: (StoreDatabase) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let database: StoreDatabase
    if let loan = pool.withLock({ $0.popLast() }) {
      database = loan.database
    } else {
      database = try StoreDatabase(path: path, mode: .readWrite)
      try database.execute(
        "PRAGMA query_only=1; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4096"
      )
    }
    defer {
      let loan = Loan(database: database)
      // A connection that does not fit closes after the lock is given back.
      let extra = pool.withLock { pool -> Loan? in
        guard pool.count < Catalog.kept else { return loan }
        pool.append(loan)
        return nil
      }
      _ = extra
    }
    return try body(database)
  }

  /// Runs the body with a connection that sees one state of the catalog throughout, whatever is committed
  /// meanwhile; a look-up on it takes no lock of the file, which is half its cost.
  package func readView<Result>(
    _ body: (StoreDatabase) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try read { (database) throws(StoreError) in
      try database.prepared("BEGIN").run()
      let result: Result
      do throws(StoreError) {
        result = try body(database)
      } catch {
        try database.prepared("COMMIT").run()
        throw error
      }
      try database.prepared("COMMIT").run()
      return result
    }
  }

  /// Runs a look-up on the connection that writes, in which what it wrote last still stands: others would
  /// have to read that again. It sees what is committed; ``endView()`` must follow.
  func lookUp<Result>(
    _ body: (StoreDatabase) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outcome = writer.withLock { loan in
      Swift.Result<Unchecked<Result>, StoreError> { () throws(StoreError) in
        guard let database = loan?.database else { throw StoreError.readOnly }
        // Inside a transaction a look-up takes no lock of the file, which is half its cost.
        if loan?.isViewing == false {
          try database.prepared("BEGIN").run()
          loan?.isViewing = true
        }
        return Unchecked(value: try body(database))
      }
    }
    return try outcome.get().value
  }

  /// Ends what look-ups began.
  func endView() { writer.withLock { loan in Catalog.endView(&loan) } }

  private static func endView(_ loan: inout Loan?) {
    guard let database = loan?.database, loan?.isViewing == true else { return }
    loan?.isViewing = false
    // Nothing was written: where it fails, the next transaction says so.
    try? database.prepared("COMMIT").run()
  }

  /// Runs the body in one SQLite transaction; it is durable when this returns.
  func write<Result>(
    _ body: (StoreDatabase) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outcome = writer.withLock { loan in
      Swift.Result<Unchecked<Result>, StoreError> { () throws(StoreError) in
        Catalog.endView(&loan)
        guard let database = loan?.database else { throw StoreError.readOnly }
        let result = try database.transaction { () throws(StoreError) in try body(database) }
        if database.logFrames >= WALPreallocation.checkpoint { database.checkpoint() }
        loan?.logRoom?.committed(database.logFrames)
        return Unchecked(value: result)
      }
    }
    return try outcome.get().value
  }

  /// Leaves all that was committed in the database, and nothing in its log: what stands in a log is lost
  /// with the first of its frames that is damaged.
  func emptyLog() {
    writer.withLock { loan in
      Catalog.endView(&loan)
      guard let database = loan?.database else { return }
      database.emptyLog()
      // The zeros ahead went with it.
      if database.logFrames == 0 { loan?.logRoom?.emptied() }
    }
  }

  /// Copies the catalog as it is committed now.
  func backup(to target: String) throws(StoreError) {
    try read { (database) throws(StoreError) in try database.copy(to: target) }
  }

  /// A result that leaves the lock on the thread that took it.
  private struct Unchecked<Value>: @unchecked Sendable { let value: Value }
}
