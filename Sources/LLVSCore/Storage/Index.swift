internal import Dispatch
internal import Platform
import SQLite
internal import Synchronization

/// index.sqlite: the locations of chunks, and the versions that changed each key. Both can be recomputed, and
/// readers check each answer against the record or the map.
///
/// It is written outside of commits: the additions of a commit are kept in memory and written in the background,
/// without syncs. After a crash the next open adds what is missing after the last version in the index.
final class Index: Sendable {
  static let formatVersion: Int64 = 1

  private struct Pending {
    var chunks: [Int64: Location] = [:]
    var changes: [(key: Int64, version: UInt32)] = []
    var lastVersion: UInt32 = 0
    var conflicts: (drops: [UInt8], head: Version.ID)?
    var notes: [String: [UInt8]] = [:]
    var isScheduled = false

    var isEmpty: Bool {
      chunks.isEmpty && changes.isEmpty && lastVersion == 0 && conflicts == nil && notes.isEmpty
    }
  }

  /// The writing connection; one thread has it at a time.
  private struct Loan: @unchecked Sendable { let database: StoreDatabase }

  private let isWritable: Bool
  private let queue = DispatchQueue(label: "llvs.index")
  // The writer's lock is held for a whole batch and acquired before pending's; else leaf locks.
  private let pending = Mutex(Pending())
  let readers: IndexReaders
  private let writer = Mutex<Loan?>(nil)

  init(path: String, mode: AccessMode, storeID: [UInt8]) throws(StoreError) {
    readers = IndexReaders(path: path)
    isWritable = mode == .writer
    guard isWritable else { return }
    let database: StoreDatabase
    do throws(StoreError) {
      database = try Index.open(path, storeID)
    } catch {
      // The index is damaged, of another store or of another format: create a new one.
      for suffix in ["", "-wal", "-shm", "-journal"] { try Index.remove(path + suffix) }
      database = try Index.open(path, storeID)
    }
    let loan = Loan(database: database)
    writer.withLock { $0 = loan }
  }

  private static func remove(_ path: String) throws(StoreError) {
    // A missing file is no error; a file that stays makes the next open fail with its name.
    try? FileSystem.unlink(path)
    guard (try? FileSystem.status(path, following: false))?.kind == .directory else { return }
    throw .corrupt("\(path) is a directory; move it away, and the index is made again")
  }

  private static func open(_ path: String, _ storeID: [UInt8]) throws(StoreError) -> StoreDatabase {
    let database = try StoreDatabase(path: path, mode: .create)
    try database.execute(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA mmap_size=0; PRAGMA cache_size=-16384"
    )
    if try database.integer("PRAGMA user_version") == 0 {
      try database.transaction { () throws(StoreError) in
        try database.execute(
          """
          CREATE TABLE chunks(hash INTEGER PRIMARY KEY, place BLOB NOT NULL);
          CREATE TABLE changes(
            key INTEGER NOT NULL, version INTEGER NOT NULL, PRIMARY KEY(key, version)
          ) WITHOUT ROWID;
          CREATE TABLE store(id BLOB NOT NULL, last_version INTEGER NOT NULL);
          CREATE TABLE conflicts(head TEXT NOT NULL, drops BLOB NOT NULL);
          CREATE TABLE notes(name TEXT PRIMARY KEY, bytes BLOB NOT NULL);
          PRAGMA user_version=\(formatVersion);
          """)
        try database.prepared("INSERT INTO store VALUES(?, 0)").bind(1, storeID).run()
      }
    }
    guard try database.integer("PRAGMA user_version") == formatVersion else {
      throw .corrupt("\(path) has another format")
    }
    guard try database.prepared("SELECT id FROM store").first({ $0.bytes(0) }) == storeID else {
      throw .corrupt("\(path) belongs to another store")
    }
    database.takeSharedMemory(version: formatVersion)
    return database
  }

  /// Returns the possible location of a chunk; the caller compares the bytes.
  func chunk(_ digest: Digest) -> Location? {
    let hash = Int64(bitPattern: digest.words.0)
    if let known = pending.withLock({ $0.chunks[hash] }) { return known }
    // If the index cannot be read, the chunk is unknown and stored again.
    return try? readers.read { (database) throws(StoreError) -> Location? in
      try database.prepared("SELECT place FROM chunks WHERE hash = ?").bind(1, hash)
        .first { $0.bytes(0).parsed { $0.location() } }
    }
  }

  /// The versions that changed a key, or another key with the same hash, ascending.
  func versions(changing key: Key) throws(StoreError) -> [VersionNumber] {
    let hash = Index.hash(key)
    // Pending additions are read first, because they are removed only after they were written.
    var numbers = pending.withLock { pending in
      Set(pending.changes.lazy.filter { $0.key == hash }.map(\.version))
    }
    numbers.formUnion(
      try readers.read { (database) throws(StoreError) in
        try database.prepared("SELECT version FROM changes WHERE key = ? ORDER BY version")
          .bind(1, hash).all { $0.number(0).rawValue }
      })
    return numbers.sorted().map { VersionNumber($0) }
  }

  /// The number up to which all versions are in the index or pending.
  func lastVersion() throws(StoreError) -> UInt32 {
    let written = try readers.read { (database) throws(StoreError) in
      UInt32(truncatingIfNeeded: try database.integer("SELECT last_version FROM store") ?? 0)
    }
    return max(written, pending.withLock { $0.lastVersion })
  }

  /// The newest version above a number in the index; nil also if the index cannot be read.
  func newestVersion(after last: UInt32) -> UInt32? {
    // The number of the last version shows if the search is useful; it may have a flipped bit.
    guard let mark = try? lastVersion(), mark > last else { return nil }
    return try? readers.read { (database) throws(StoreError) -> UInt32? in
      try database.prepared("SELECT max(version) FROM changes WHERE version > ?")
        .bind(1, Int64(last)).first { $0.optionalNumber(0)?.rawValue }
    }
  }

  /// Removes the versions above a number, which the catalog has lost: their numbers will be reused.
  func forget(after last: UInt32) throws(StoreError) {
    try writer.withLock { loan throws(StoreError) in
      guard let database = loan?.database else { return }
      try database.transaction { () throws(StoreError) in
        try database.prepared("DELETE FROM changes WHERE version > ?").bind(1, Int64(last)).run()
        try database.prepared("UPDATE store SET last_version = min(last_version, ?)")
          .bind(1, Int64(last)).run()
      }
      readers.noteWritten()
    }
  }

  /// Returns the unsettled drops that were kept last, encoded, and their head.
  func conflicts() -> (drops: [UInt8], head: Version.ID)? {
    // Unreadable drops are recomputed.
    try? readers.read { (database) throws(StoreError) -> ([UInt8], Version.ID)? in
      try database.prepared("SELECT head, drops FROM conflicts")
        .first { ($0.bytes(1), Version.ID($0.text(0))) }
    }
  }

  func keep(conflicts drops: [UInt8], of head: Version.ID) { keep { $0.conflicts = (drops, head) } }
  func keep(_ name: String, _ bytes: [UInt8]) { keep { $0.notes[name] = bytes } }

  func kept(_ name: String) -> [UInt8]? {
    if let waiting = pending.withLock({ $0.notes[name] }) { return waiting }
    return try? readers.read { (database) throws(StoreError) -> [UInt8]? in
      try database.prepared("SELECT bytes FROM notes WHERE name = ?").bind(1, name)
        .first { $0.bytes(0) }
    }
  }

  private func keep(_ change: (inout Pending) -> Void) {
    guard isWritable else { return }
    let isDue = pending.withLock { pending in
      change(&pending)
      guard !pending.isScheduled else { return false }
      pending.isScheduled = true
      return true
    }
    // Commits at short intervals are written together.
    guard isDue else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(200)) { [weak self] in self?.flush() }
  }

  private static func hash(_ key: Key) -> Int64 {
    Int64(bitPattern: key.bytes.withUnsafeBytes { Checksum.of($0) })
  }

  /// Queues the additions of a commit.
  func add(chunks: [Digest: Location], changes: [(VersionNumber, [Key])]) {
    guard !chunks.isEmpty || !changes.isEmpty else { return }
    keep { pending in
      for (digest, place) in chunks { pending.chunks[Int64(bitPattern: digest.words.0)] = place }
      for (version, keys) in changes {
        for key in keys { pending.changes.append((Index.hash(key), version.rawValue)) }
        pending.lastVersion = max(pending.lastVersion, version.rawValue)
      }
    }
  }

  func flush() {
    // One thread at a time: each removes what it wrote from the front.
    writer.withLock { loan in
      let batch = pending.withLock { pending in
        pending.isScheduled = false
        return pending
      }
      // Additions that could not be written stay for the next flush or the next open.
      guard !batch.isEmpty, let database = loan?.database,
        (try? Index.write(batch, to: database)) != nil
      else { return }
      readers.noteWritten()
      pending.withLock { pending in
        for (hash, place) in batch.chunks where pending.chunks[hash] == place {
          pending.chunks[hash] = nil
        }
        pending.changes.removeFirst(min(batch.changes.count, pending.changes.count))
        if pending.conflicts?.head == batch.conflicts?.head { pending.conflicts = nil }
        for (name, bytes) in batch.notes where pending.notes[name] == bytes {
          pending.notes[name] = nil
        }
      }
    }
  }

  private static func write(_ batch: Pending, to database: StoreDatabase) throws(StoreError) {
    try database.transaction { () throws(StoreError) in
      // In the order of hashes, neighbours are in the same page.
      for (hash, place) in batch.chunks.sorted(by: { $0.key < $1.key }) {
        var bytes: [UInt8] = []
        bytes.append(place)
        try database.prepared("INSERT OR REPLACE INTO chunks VALUES(?, ?)")
          .bind(1, hash).bind(2, bytes).run()
      }
      for change in batch.changes.sorted(by: { ($0.key, $0.version) < ($1.key, $1.version) }) {
        try database.prepared("INSERT OR IGNORE INTO changes VALUES(?, ?)")
          .bind(1, change.key).bind(2, Int64(change.version)).run()
      }
      if let conflicts = batch.conflicts {
        try database.execute("DELETE FROM conflicts")
        try database.prepared("INSERT INTO conflicts VALUES(?, ?)")
          .bind(1, conflicts.head.rawValue).bind(2, conflicts.drops).run()
      }
      for (name, bytes) in batch.notes {
        try database.prepared("INSERT OR REPLACE INTO notes VALUES(?, ?)")
          .bind(1, name).bind(2, bytes).run()
      }
      try database.prepared("UPDATE store SET last_version = max(last_version, ?)")
        .bind(1, Int64(batch.lastVersion)).run()
    }
  }
}
