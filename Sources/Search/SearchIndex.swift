package import LLVSCore
internal import Platform
internal import SQLite
internal import SQLiteSums

/// The words of all files of a store's head and history, in `search.sqlite`.
///
/// The index is a cache. The first search makes it, and each search brings it up to the head; no commit waits for
/// it. It contains each distinct value once.
///
/// INVARIANT 1: The rows of `tree` follow from the version of the fact `head`, unless the fact `towards` exists:
/// then catching up was interrupted, and the rows are made again.
/// INVARIANT 2: A row of `content` is written in the transaction that indexes its words.
/// INVARIANT 3: One connection at a time catches up: it holds a lock on `search.lock`.
/// - Concurrency: one thread at a time; several processes may have one each.
package final class SearchIndex {
  /// Called with the number of finished steps, and of all.
  package typealias Progress = (Int, Int) -> Void
  private static let format = 2
  /// The bytes of texts in one transaction.
  static let batchLimit = 32 << 20
  /// The memory for words, in bytes. SQLite's own 1 MiB makes many small parts.
  private static let hashSize = 4 << 20
  /// With more values than this for each of the head, the index is made again.
  private static let wasteLimit = 4
  let store: Store
  /// The indexed part of longer files, in bytes.
  let textLimit: Int
  let progress: Progress
  let isCancelled: () -> Bool
  private let path: String
  private(set) var database: Database
  /// True if the store's directory is not writable, so that the index is an unnamed file.
  package private(set) var isTemporary = false

  /// Opens or makes the index of a store. `isCancelled` ends catching up with ``StoreError/cancelled``.
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

  /// In bytes.
  package static let defaultTextLimit = 8 << 20
  private static let fileName = "search.sqlite"

  package static func exists(of store: Store) -> Bool {
    (try? FileSystem.exists("\(store.path)/\(fileName)")) ?? false
  }

  private static func opened(
    _ path: String, _ owner: String
  ) throws(DatabaseError) -> (Database, Bool) {
    do throws(DatabaseError) {
      return (try opened(at: path, owner), false)
    } catch {
      if case .busy = error { throw error }
    }
    // The file is damaged, of another store or format, or of another user.
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
    // SQLite keeps an unnamed database in a temporary file.
    let database = try Database(path: "", mode: .create, options: .document(patience: 0))
    try lay(owner, in: database)
    return (database, true)
  }

  private static func remove(_ path: String) {
    // If this fails, the next opening reports the reason.
    for suffix in ["", "-wal", "-shm"] { try? FileSystem.unlink(path + suffix) }
  }

  private static func opened(
    at path: String, _ owner: String
  ) throws(DatabaseError) -> Database {
    let database = try Database(path: path, mode: .create, options: .withPageSums)
    try database.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY")
    guard
      try database.integer("SELECT 1 FROM sqlite_master WHERE name = 'facts'") != nil
    else {
      try lay(owner, in: database)
      return database
    }
    let known = try database.prepared("SELECT value FROM facts WHERE name = 'owner'")
    guard try known.first({ $0.text(0) }) == owner else { throw .corrupt(path) }
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

  /// Runs a body; if the index is damaged, makes it again and runs the body again.
  func healing<R>(_ body: () throws -> R) throws(StoreError) -> R {
    do {
      do { return try body() } catch DatabaseError.corrupt {
        try renew()
        return try body()
      }
    } catch {
      if let error = error as? StoreError { throw error }
      if let error = error as? DatabaseError { throw StoreError(searching: error) }
      throw .corrupt("\(error)")
    }
  }

  private func renew() throws(DatabaseError) {
    database.rollBack()
    Self.remove(path)
    (database, isTemporary) = try Self.opened(
      path, "\(Self.format) \(textLimit) \(store.replicaID)")
  }

  /// Empties the index if most of its values are not in the head and history was never searched.
  func renewIfWasteful(_ head: VersionRecord) throws {
    guard try fact("history") == nil,
      let known = try database.integer("SELECT max(id) FROM content")
    else { return }
    let wanted = Int64(clamping: store.map(of: head).count)
    if known > Int64(Self.wasteLimit) * wanted + 10_000 { try renew() }
  }

  /// Empties the index if versions were forgotten whose words it may have: FTS5 removes the words of a row only with
  /// the row's text, which is gone.
  package func forget() throws(StoreError) {
    try healing {
      guard let head = try store.headRecord(), try !hasForgotten() else { return }
      try alone { try renewIfForgotten(head) }
    }
  }

  /// True if the index has no words of versions that were forgotten after they were indexed.
  func hasForgotten() throws -> Bool { try fact("forgotten") ?? "0" == forgottenCount() }

  private func forgottenCount() throws -> String { "\(try store.forgottenVersions().count)" }

  func renewIfForgotten(_ head: VersionRecord) throws {
    guard try !hasForgotten() else { return }
    let hasHistory = try fact("history") != nil
    let others = "SELECT EXISTS (SELECT 1 FROM content WHERE id NOT IN (SELECT content FROM tree))"
    if try hasHistory || !isAt(head) || database.integer(others) != 0 {
      try renew()
      // No version has this name, so that history is indexed from its beginning.
      if hasHistory { try set("history", to: "") }
    }
    try set("forgotten", to: forgottenCount())
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
