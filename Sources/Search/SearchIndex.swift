package import LLVSCore
internal import Platform
internal import SQLite

/// The words of all files of a store's head, and of its history, in a file of its own:
/// `search.sqlite`.
///
/// The index is a cache. It is made when somebody first searches, and is brought up to the head
/// before each answer by what differs. No commit waits for it or writes to it. Each distinct value
/// is in it once, so that a copy, a renamed file and a value of many versions take no more room.
///
/// INVARIANT 1: The rows of `tree` follow from the version that the fact `head` names, unless the
/// fact `towards` is there: then catching up was interrupted, and the rows are made again.
/// INVARIANT 2: A row of `content` is written in the transaction that indexes its words.
/// INVARIANT 3: One connection at a time catches up: it holds a lock on `search.lock`.
///
/// - Concurrency: one thread at a time; several processes may have one each.
package final class SearchIndex {
  /// A function that is told how many of how many steps are done.
  package typealias Progress = (Int, Int) -> Void

  /// The number of the format; a file of another one is made again.
  private static let format = 2
  /// Texts of this many bytes are indexed in one transaction.
  static let batchLimit = 32 << 20
  /// Words are gathered in so many bytes of memory before they are written. SQLite's own 1 MiB makes
  /// many small parts, which are then merged again and again.
  private static let hashSize = 4 << 20
  /// With more values than this for each that the head has, the index is made again.
  private static let wasteLimit = 4

  let store: Store
  /// Longer files are indexed up to here, in bytes.
  let textLimit: Int
  let progress: Progress
  let isCancelled: () -> Bool
  private let path: String
  private(set) var database: Database
  /// True if the store's directory cannot be written: the index is then a file without a name that
  /// goes with this object.
  package private(set) var isTemporary = false

  /// Opens the index of a store, or makes an empty one.
  ///
  /// - Parameters:
  ///   - store: the store, open for reading or writing.
  ///   - textLimit: longer files are indexed up to here, in bytes.
  ///   - isCancelled: ends catching up with ``StoreError/cancelled`` once it returns true.
  ///   - progress: is called while files are indexed.
  /// - Throws: ``StoreError``.
  package init(
    of store: Store, textLimit: Int = SearchIndex.defaultTextLimit,
    isCancelled: @escaping () -> Bool = { false },
    progress: @escaping Progress = { _, _ in }
  ) throws(StoreError) {
    self.store = store
    self.textLimit = textLimit
    self.progress = progress
    self.isCancelled = isCancelled
    path = "\(store.path)/\(Self.fileName)"
    let owner = "\(Self.format) \(textLimit) \(store.replicaID)"
    do throws(DatabaseError) {
      (database, isTemporary) = try Self.opened(path, owner)
    } catch { throw StoreError(searching: error) }
  }

  /// The length up to which files are indexed, in bytes, unless a setting says another.
  package static let defaultTextLimit = 8 << 20
  private static let fileName = "search.sqlite"

  /// True if a store has an index.
  package static func exists(of store: Store) -> Bool {
    (try? FileSystem.exists("\(store.path)/\(fileName)")) ?? false
  }

  // MARK: Opening

  private static func opened(
    _ path: String, _ owner: String
  ) throws(DatabaseError) -> (Database, Bool) {
    do throws(DatabaseError) {
      return (try opened(at: path, owner), false)
    } catch {
      if case .busy = error { throw error }
    }
    // A damaged file, one of another store or format, or one that another user left.
    remove(path)
    do throws(DatabaseError) {
      return (try opened(at: path, owner), false)
    } catch {
      switch error {
      case .readOnly: break
      case .system(let error) where error.errno == Errno.accessDenied: break
      case .system(let error) where error.errno == Errno.readOnlyFileSystem: break
      default: throw error
      }
    }
    // SQLite keeps a database without a name in a temporary file.
    let database = try Database(path: "", mode: .create, options: .document(patience: 0))
    try lay(owner, in: database)
    return (database, true)
  }

  private static func remove(_ path: String) {
    // A file that cannot be removed is opened again, and that fails with the reason.
    for suffix in ["", "-wal", "-shm"] { try? FileSystem.unlink(path + suffix) }
  }

  private static func opened(
    at path: String, _ owner: String
  ) throws(DatabaseError) -> Database {
    var options = Database.Options()
    options.hasPageSums = true
    let database = try Database(path: path, mode: .create, options: options)
    try database.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY")
    guard
      try database.integer("SELECT 1 FROM sqlite_master WHERE name = 'facts'") != nil
    else {
      try lay(owner, in: database)
      return database
    }
    let known = try database.prepared("SELECT value FROM facts WHERE name = 'owner'")
    defer { known.reset() }
    guard try known.step(), known.text(0) == owner else { throw .corrupt(path) }
    return database
  }

  private static func lay(_ owner: String, in database: Database) throws(DatabaseError) {
    try database.execute(
      """
      BEGIN IMMEDIATE;
      CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS content (
        id INTEGER PRIMARY KEY, digest BLOB UNIQUE NOT NULL, isCut INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS content_cut ON content(id) WHERE isCut;
      CREATE VIRTUAL TABLE IF NOT EXISTS words USING
        fts5(text, content = '', detail = full, tokenize = 'porter unicode61');
      INSERT INTO words (words, rank) VALUES ('hashsize', \(hashSize));
      CREATE TABLE IF NOT EXISTS paths (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL);
      CREATE VIRTUAL TABLE IF NOT EXISTS names USING
        fts5(text, content = '', detail = full, tokenize = 'porter unicode61');
      CREATE TABLE IF NOT EXISTS tree (
        path INTEGER PRIMARY KEY, content INTEGER NOT NULL, time INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS tree_content ON tree(content);
      CREATE TABLE IF NOT EXISTS history (
        content INTEGER NOT NULL, path INTEGER NOT NULL, version INTEGER NOT NULL,
        PRIMARY KEY (content, path, version)) WITHOUT ROWID;
      INSERT OR IGNORE INTO facts VALUES ('owner', '\(owner)');
      COMMIT
      """)
  }

  // MARK: Healing

  /// Runs a body; if the index turns out to be damaged, makes it again and runs the body again.
  func healing<R>(_ body: () throws -> R) throws(StoreError) -> R {
    do {
      return try body()
    } catch DatabaseError.corrupt {
      do {
        try renew()
        return try body()
      } catch { throw Self.wrapped(error) }
    } catch { throw Self.wrapped(error) }
  }

  /// Replaces the index by an empty one.
  private func renew() throws(DatabaseError) {
    database.rollBack()
    Self.remove(path)
    (database, isTemporary) = try Self.opened(
      path, "\(Self.format) \(textLimit) \(store.replicaID)")
  }

  /// Replaces the index by an empty one if most of it is values that the head has no more, and
  /// nobody has searched history.
  func renewIfWasteful(_ head: VersionRecord) throws {
    guard try fact("history") == nil,
      let known = try database.integer("SELECT max(id) FROM content")
    else { return }
    let wanted = Int64(clamping: store.map(of: head).count)
    if known > Int64(Self.wasteLimit) * wanted + 10_000 { try renew() }
  }

  static func wrapped(_ error: any Error) -> StoreError {
    if let error = error as? StoreError { return error }
    if let error = error as? DatabaseError { return StoreError(searching: error) }
    return .corrupt("\(error)")
  }

  /// Calls a body while no other connection catches up.
  func alone<R>(_ body: () throws -> R) throws -> R {
    guard !isTemporary else { return try body() }
    let lock = try StoreError.wrapping { () throws(SystemError) in
      let file = try File.kept("\(store.path)/search.lock", [.readWrite, .create])
      _ = try file.lock(.exclusive, waiting: true)
      return file
    }
    defer { lock.unlock() }
    return try body()
  }
}

extension StoreError {
  init(searching error: DatabaseError) {
    switch error {
    case .corrupt(let text): self = .corrupt(text)
    case .busy(let text): self = .busy(text)
    case .readOnly: self = .readOnly
    case .refused(_, let text): self = .invalid(text)
    case .system(let error): self = .system(error)
    }
  }
}
