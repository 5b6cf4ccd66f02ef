import SQLite
internal import Synchronization

/// store.sqlite: versions and their order, heads, lines, settings, peers, the log of heads, counters.
///
/// One connection writes, under the store's write lock; readers use a few others and do not wait for the writer
/// (WAL mode).
package final class Catalog: Sendable {
  /// A connection borrowed from the pool; one thread has it at a time.
  private struct Loan: @unchecked Sendable {
    let database: StoreDatabase
    /// For the writer's connection: true while a transaction that only reads is open on it.
    var isViewing = false
    /// For the writer's connection: zeros ahead of the end of its log.
    var preallocation: WALPreallocation?
  }

  let path: String
  let isNew: Bool
  package let remoteLedger = RemoteLedger()
  // Leaf locks. The pool's is held to push and pop only. The writer's is held during a transaction:
  // its holder waits for the disk, and only other writers wait for the lock.
  private let pool = Mutex<[Loan]>([])
  private let writer: Mutex<Loan?>
  private static let kept = 6

  /// Opens a catalog; with `properties`, the first rows of a new catalog, creates a missing one. `witness` is a
  /// file that only a store with a catalog has: if it exists, a catalog without tables is damaged.
  init(
    path: String, mode: AccessMode, creating properties: [String: [UInt8]]?, witness: String? = nil
  ) throws(StoreError) {
    self.path = path
    writer = Mutex(nil)
    guard mode == .writer else {
      isNew = false
      let database = try StoreDatabase(path: path, mode: .readWrite)
      try database.execute("PRAGMA query_only=1")
      try Catalog.refuseLoss(database, witness)
      try Catalog.check(database)
      pool.withLock { $0.append(Loan(database: database)) }
      return
    }
    let database = try StoreDatabase(path: path, mode: properties == nil ? .readWrite : .create)
    // This must be checked before anything is written.
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
        for (name, value) in properties { try database.setProperty(name, value) }
        try database.execute("PRAGMA user_version=\(Catalog.formatVersion)")
      }
    }
    try Catalog.check(database)
    database.takeSharedMemory(version: try Catalog.formatAndTables(database).format)
    database.watchLog()
    let pageSize = Int(try database.integer("PRAGMA page_size") ?? 4096)
    let preallocation = WALPreallocation(database: path, pageSize: pageSize)
    let loan = Loan(database: database, preallocation: preallocation)
    writer.withLock { $0 = loan }
  }

  /// Returns true if a database has no tables, because creating it was interrupted.
  private static func isEmpty(_ database: StoreDatabase) throws(StoreError) -> Bool {
    let (format, tables) = try formatAndTables(database)
    return format == 0 && tables == 0
  }

  /// Returns the number of the format and of the tables, of one moment: another process may be creating them.
  private static func formatAndTables(
    _ database: StoreDatabase
  ) throws(StoreError) -> (format: Int64, tables: Int64) {
    try database.prepared(
      "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
    ).first { ($0.integer(0), $0.integer(1)) } ?? (0, 0)
  }

  /// Throws if a catalog has lost its tables: other files prove that it had them.
  private static func refuseLoss(_ database: StoreDatabase, _ witness: String?) throws(StoreError) {
    guard let witness, try isEmpty(database) else { return }
    throw .corrupt(
      "\(database.path) holds nothing, and \(witness) is there: its log \(database.path)-wal, "
        + "which belongs to it, is gone or damaged")
  }

  private static func check(_ database: StoreDatabase) throws(StoreError) {
    let (found, tables) = try formatAndTables(database)
    guard found <= forgettingVersion else {
      throw .fromTheFuture(
        "the store has format \(found), this program knows up to \(forgettingVersion)")
    }
    guard found >= 1 else {
      if tables == 0 {
        throw .notFound("store in \(database.path): its making was interrupted")
      }
      throw .corrupt("\(database.path): format \(found) is none of a store's")
    }
    guard found >= formatVersion else {
      throw .invalid(
        "the store has format \(found) of an earlier program; this program reads only format "
          + "\(formatVersion)")
    }
  }

  /// Runs the body with a connection of its own that sees the committed state.
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
      // A connection in excess is closed after the lock is released.
      let extra = pool.withLock { pool -> Loan? in
        guard pool.count < Catalog.kept else { return loan }
        pool.append(loan)
        return nil
      }
      _ = extra
    }
    return try body(database)
  }

  /// Runs the body with a connection that sees one state of the catalog and locks no file.
  package func readView<Result>(
    _ body: (StoreDatabase) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try read { (database) throws(StoreError) in
      try database.prepared("BEGIN").run()
      let result = Swift.Result { () throws(StoreError) in try body(database) }
      try database.prepared("COMMIT").run()
      return try result.get()
    }
  }

  /// Runs a look-up on the writer's connection, because its cache holds the pages written last. It sees the
  /// committed state; ``endView()`` must follow.
  func lookUp<Result>(
    _ body: (StoreDatabase) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outcome = writer.withLock { loan in
      Swift.Result<Unchecked<Result>, StoreError> { () throws(StoreError) in
        guard let database = loan?.database else { throw StoreError.readOnly }
        // Inside a transaction a look-up locks no file, which is half its cost.
        if loan?.isViewing == false {
          try database.prepared("BEGIN").run()
          loan?.isViewing = true
        }
        return Unchecked(value: try body(database))
      }
    }
    return try outcome.get().value
  }

  func endView() { writer.withLock { loan in Catalog.endView(&loan) } }

  private static func endView(_ loan: inout Loan?) {
    guard let database = loan?.database, loan?.isViewing == true else { return }
    loan?.isViewing = false
    // Nothing was written: if this fails, the next transaction reports it.
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
        loan?.preallocation?.committed(database.logFrames)
        return Unchecked(value: result)
      }
    }
    return try outcome.get().value
  }

  /// Copies the log into the database and empties it, because a damaged frame of a log affects the rest of it.
  func emptyLog() {
    writer.withLock { loan in
      Catalog.endView(&loan)
      guard let database = loan?.database else { return }
      database.emptyLog()
      // The zeros behind its end were removed too.
      if database.logFrames == 0 { loan?.preallocation?.emptied() }
    }
  }

  /// Carries a result out of the lock on the thread that acquired it.
  private struct Unchecked<Value>: @unchecked Sendable { let value: Value }

  /// The format of a store that has all its bytes; earlier formats are refused.
  static let formatVersion: Int64 = 3
  /// The format of a store that has forgotten bytes.
  static let forgettingVersion: Int64 = 4
  static let schema = """
    CREATE TABLE properties(
      name BLOB PRIMARY KEY, value BLOB NOT NULL, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE counters(
      name BLOB PRIMARY KEY, value INTEGER NOT NULL, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE versions(
      number INTEGER PRIMARY KEY,
      id BLOB NOT NULL UNIQUE,
      name BLOB NOT NULL UNIQUE,
      first INTEGER, second INTEGER,
      timestamp REAL NOT NULL, bits INTEGER NOT NULL, generation INTEGER NOT NULL,
      line BLOB NOT NULL, flags INTEGER NOT NULL,
      map BLOB NOT NULL, data_size INTEGER, stored_at INTEGER NOT NULL,
      metadata BLOB NOT NULL, changes BLOB, sum INTEGER);
    CREATE INDEX versions_by_time ON versions(timestamp, generation, id);
    CREATE TABLE successors(
      predecessor INTEGER NOT NULL, number INTEGER NOT NULL,
      PRIMARY KEY(predecessor, number)) WITHOUT ROWID;
    CREATE TABLE heads(number INTEGER PRIMARY KEY);
    CREATE TABLE line_heads(
      line BLOB NOT NULL, number INTEGER NOT NULL,
      PRIMARY KEY(line, number)) WITHOUT ROWID;
    CREATE TABLE head_log(
      sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, version INTEGER,
      map BLOB, reason BLOB NOT NULL, sum INTEGER);
    CREATE INDEX head_log_by_time ON head_log(time);
    CREATE TABLE settings(
      name BLOB PRIMARY KEY, value BLOB NOT NULL, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE peers(
      name BLOB PRIMARY KEY, address BLOB NOT NULL, state BLOB, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE links(
      link BLOB, key BLOB, sum INTEGER, PRIMARY KEY(link, key)) WITHOUT ROWID;
    CREATE TABLE bundles(
      hash BLOB PRIMARY KEY, versions BLOB NOT NULL, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE remote_bundles(
      number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, state INTEGER NOT NULL,
      put INTEGER NOT NULL, announced INTEGER NOT NULL, facts BLOB NOT NULL, sum INTEGER);
    CREATE TABLE remote_items(
      item BLOB NOT NULL, bundle INTEGER NOT NULL, place INTEGER NOT NULL, sum INTEGER,
      PRIMARY KEY(item, bundle)) WITHOUT ROWID;
    CREATE INDEX remote_items_by_bundle ON remote_items(bundle);
    """
}
