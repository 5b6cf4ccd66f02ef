internal import SQLite

/// One connection to a database file, with the changes of its open transaction.
///
/// Unchecked: everything except the gate is used only while the gate is held.
final class Connection: @unchecked Sendable {
  /// The longest time that a call waits for other connections, in milliseconds.
  static let patience: Int32 = 5000
  let gate = Gate()
  let sqlite: SQLite.Database
  /// Called with the gate held after a commit that changed something.
  var committed: ((Change) -> Void)?
  /// ``DatabaseWriter/order`` of the writer that owns the connection.
  var writer = 0
  private var change = Change()
  private var changesBefore: Int64 = 0
  /// The number of running operations that record their changed keys.
  private var operations = 0
  private var savepoints = 0
  private var isReading = false
  private var afterCommit: [() -> Void] = []

  init(path: String, mode: SQLite.Database.Mode) throws {
    sqlite = try SQLite.Database(
      path: path, mode: mode, options: .document(patience: Self.patience))
    // As in the original: an entry's author is in the list of authors.
    try sqlite.execute("PRAGMA foreign_keys = ON")
    sqlite.onChange(of: "entry") { [unowned self] in
      if operations == 0 { change.isUnknown = true }
    }
  }

  /// Runs a body in a transaction, or in a part of the open one that is rolled back separately.
  func write<Result>(_ body: () throws -> Result) throws -> Result {
    guard !sqlite.isInTransaction else { return try nested(body) }
    try sqlite.prepared("BEGIN IMMEDIATE").run()
    change = Change()
    changesBefore = sqlite.totalChanges
    afterCommit = []
    let result: Result
    do {
      result = try body()
      guard sqlite.isInTransaction else {
        throw DatabaseError(.misuse, "the transaction was ended within the block that writes")
      }
      try sqlite.prepared("COMMIT").run()
    } catch {
      sqlite.rollBack()
      throw error
    }
    for body in afterCommit { body() }
    afterCommit = []
    change.isAny = sqlite.totalChanges != changesBefore
    if change.isAny { committed?(change) }
    return result
  }

  private func nested<Result>(_ body: () throws -> Result) throws -> Result {
    savepoints += 1
    let name = "kvcrdt_\(savepoints)"
    defer { savepoints -= 1 }
    let before = change
    try sqlite.execute("SAVEPOINT \(name)")
    do {
      let result = try body()
      try sqlite.execute("RELEASE \(name)")
      return result
    } catch {
      // There is nothing to undo if SQLite has rolled back the whole transaction.
      if sqlite.isInTransaction {
        try sqlite.execute("ROLLBACK TO \(name)")
        try sqlite.execute("RELEASE \(name)")
      }
      change = before
      throw error
    }
  }

  func read<Result>(_ body: () throws -> Result) throws -> Result {
    guard !sqlite.isInTransaction else { return try body() }
    try sqlite.prepared("BEGIN").run()
    isReading = true
    do {
      let result = try body()
      try endReading()
      return result
    } catch {
      isReading = false
      sqlite.rollBack()
      throw error
    }
  }

  /// Lets others write the file before the reading body has ended.
  func endReading() throws {
    guard isReading else { return }
    isReading = false
    try sqlite.prepared("COMMIT").run()
  }

  func operation<Result>(_ body: () throws -> Result) rethrows -> Result {
    operations += 1
    defer { operations -= 1 }
    return try body()
  }

  func afterCommit(_ body: @escaping () -> Void) { afterCommit.append(body) }
  func note(_ key: ScopedKey) { change.keys.insert(key) }
}

struct Change {
  var keys: Set<ScopedKey> = []
  /// True if entries changed and not all of their keys are known.
  var isUnknown = false
  var isAny = false

  /// True if versions of a key that `isIncluded` accepts may have changed.
  func touches(_ isIncluded: (ScopedKey) -> Bool) -> Bool {
    isUnknown || keys.contains(where: isIncluded)
  }
}
