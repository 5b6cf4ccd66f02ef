internal import SQLite

/// The text index next to the entries, for transactions that write many of them.
struct TextIndex {
  private let sqlite: SQLite.Database
  /// True if whoever writes entries says so to this object; false if the index is kept otherwise.
  private let isByHand: Bool

  /// Fewer entries than this are indexed one by one.
  private static let least = 200
  /// For fewer entries than this it is not worthwhile to look at the triggers.
  private static let leastByHand = 10
  /// To index one more entry takes about as long as to index this many when all are.
  private static let share = 4

  /// Runs a body that writes so many entries, and keeps the index in the cheaper way: with each of them by
  /// the triggers, or all of it again at the end.
  static func writing<Result>(
    _ count: Int, on connection: Connection, _ body: () throws -> Result
  ) throws -> Result {
    let sqlite = connection.sqlite
    guard count >= least else { return try body() }
    let present = try sqlite.integer("SELECT COUNT(*) FROM entry") ?? 0
    guard Int64(count) * Int64(share) >= present, try hasOwnTriggersAlone(sqlite) else {
      return try body()
    }
    let result = try withoutTriggers(sqlite, body)
    try sqlite.execute("INSERT INTO entryFullText (entryFullText) VALUES ('rebuild')")
    return result
  }

  /// Runs a body that removes and adds so many entries and says each to the index, and keeps it in the
  /// cheapest way.
  ///
  /// A trigger makes a savepoint of each statement, and at each savepoint FTS5 writes out the words that it
  /// has gathered; statements without triggers leave them together until the transaction ends.
  static func changing<Result>(
    _ count: Int, on connection: Connection, _ body: (TextIndex) throws -> Result
  ) throws -> Result {
    let sqlite = connection.sqlite
    let present = try sqlite.integer("SELECT COUNT(*) FROM entry") ?? 0
    let isAnew = count >= least && Int64(count) * Int64(share) >= present
    guard !isAnew, count >= leastByHand, try hasOwnTriggersAlone(sqlite) else {
      let index = TextIndex(sqlite: sqlite, isByHand: false)
      return try writing(count, on: connection) { try body(index) }
    }
    return try withoutTriggers(sqlite) { try body(TextIndex(sqlite: sqlite, isByHand: true)) }
  }

  /// Takes an entry out of the index; it must still be there.
  func remove(_ row: Int64) throws {
    guard isByHand else { return }
    let entry = try sqlite.prepared("SELECT text FROM entry WHERE rowid = ?").bind(1, row)
    defer { entry.reset() }
    guard try entry.step() else { return }
    try sqlite.prepared(
      "INSERT INTO entryFullText (entryFullText, rowid, text) VALUES ('delete', ?, ?)"
    ).bind(1, row).bind(2, column: 0, of: entry).run()
  }

  /// Adds the entry that was inserted last; its text is a column of the row that a statement is at.
  func addLast(text column: Int32, of source: Statement) throws {
    guard isByHand else { return }
    try sqlite.prepared("INSERT INTO entryFullText (rowid, text) VALUES (?, ?)")
      .bind(1, sqlite.lastInsertedRow).bind(2, column: column, of: source).run()
  }

  /// Runs a body that changes no text and no row's number.
  static func untouched<Result>(
    on connection: Connection, _ body: () throws -> Result
  ) throws -> Result {
    guard try hasOwnTriggersAlone(connection.sqlite) else { return try body() }
    return try withoutTriggers(connection.sqlite, body)
  }

  private static func withoutTriggers<Result>(
    _ sqlite: SQLite.Database, _ body: () throws -> Result
  ) throws -> Result {
    try sqlite.setTriggers(areRun: false)
    do {
      let result = try body()
      try sqlite.setTriggers(areRun: true)
      return result
    } catch {
      try sqlite.setTriggers(areRun: true)
      throw error
    }
  }

  /// An application may have triggers of its own, which must run.
  private static func hasOwnTriggersAlone(_ sqlite: SQLite.Database) throws -> Bool {
    var names: [String] = []
    try sqlite.rows(
      """
      SELECT name FROM sqlite_master WHERE type = 'trigger'
      UNION ALL SELECT name FROM sqlite_temp_master WHERE type = 'trigger' ORDER BY name
      """
    ) { names.append($0.string(0)) }
    return names == Schema.triggers
  }

  /// The query for keys whose text has all words; nil where there is no word.
  ///
  /// Words are rows of letters and digits of ASCII and of all other characters, as GRDB finds them for the
  /// original. Each is quoted, so that nothing in it is an operator.
  static func query(_ words: String) -> String? {
    let found = words.utf8.split { byte in
      !(byte >= 0x80 || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
        || (0x61...0x7A).contains(byte))
    }
    guard !found.isEmpty else { return nil }
    return found.map { "\"\(String(decoding: $0, as: UTF8.self))\"" }.joined(separator: " ")
  }
}
