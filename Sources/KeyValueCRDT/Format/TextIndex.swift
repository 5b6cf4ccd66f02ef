internal import SQLite

/// The text index next to the entries, for transactions that write many of them.
struct TextIndex {
  private let sqlite: SQLite.Database
  /// True if ``remove(_:)`` and ``addLast(text:of:)`` update the index instead of the triggers.
  private let isByHand: Bool
  private static let least = 200
  /// For fewer entries checking the triggers does not pay.
  private static let leastByHand = 10
  /// Indexing everything takes as long as indexing one in this many entries separately.
  private static let share = 4

  /// Updates the index in the cheaper way: by the triggers, or by indexing everything at the end.
  static func writing<Result>(
    _ count: Int, on sqlite: SQLite.Database, _ body: () throws -> Result
  ) throws -> Result {
    guard count >= least else { return try body() }
    let present = try sqlite.integer("SELECT COUNT(*) FROM entry") ?? 0
    guard Int64(count) * Int64(share) >= present, try hasOwnTriggersAlone(sqlite) else {
      return try body()
    }
    let result = try withoutTriggers(sqlite, body)
    try sqlite.execute("INSERT INTO entryFullText (entryFullText) VALUES ('rebuild')")
    return result
  }

  /// Updates the index in the cheapest way while a body removes and adds entries and reports these to the index.
  /// Triggers make a savepoint for each statement, where FTS5 writes out its collected words.
  static func changing<Result>(
    _ count: Int, on sqlite: SQLite.Database, _ body: (TextIndex) throws -> Result
  ) throws -> Result {
    let present = try sqlite.integer("SELECT COUNT(*) FROM entry") ?? 0
    let isAnew = count >= least && Int64(count) * Int64(share) >= present
    guard !isAnew, count >= leastByHand, try hasOwnTriggersAlone(sqlite) else {
      let index = TextIndex(sqlite: sqlite, isByHand: false)
      return try writing(count, on: sqlite) { try body(index) }
    }
    return try withoutTriggers(sqlite) { try body(TextIndex(sqlite: sqlite, isByHand: true)) }
  }

  func remove(_ row: Int64) throws {
    guard isByHand else { return }
    let entry = try sqlite.prepared("SELECT text FROM entry WHERE rowid = ?").bind(1, row)
    defer { entry.reset() }
    guard try entry.step() else { return }
    try sqlite.prepared(
      "INSERT INTO entryFullText (entryFullText, rowid, text) VALUES ('delete', ?, ?)"
    ).bind(1, row).bind(2, column: 0, of: entry).run()
  }

  func addLast(text column: Int32, of source: Statement) throws {
    guard isByHand else { return }
    try sqlite.prepared("INSERT INTO entryFullText (rowid, text) VALUES (?, ?)")
      .bind(1, sqlite.lastInsertedRow).bind(2, column: column, of: source).run()
  }

  static func untouched<Result>(
    on sqlite: SQLite.Database, _ body: () throws -> Result
  ) throws -> Result {
    try hasOwnTriggersAlone(sqlite) ? try withoutTriggers(sqlite, body) : try body()
  }

  private static func withoutTriggers<Result>(
    _ sqlite: SQLite.Database, _ body: () throws -> Result
  ) throws -> Result {
    try sqlite.setTriggers(areRun: false)
    let result = Swift.Result { try body() }
    try sqlite.setTriggers(areRun: true)
    return try result.get()
  }

  /// False if the application has triggers of its own, which must run.
  private static func hasOwnTriggersAlone(_ sqlite: SQLite.Database) throws -> Bool {
    var names: [String] = []
    try sqlite.rows(
      """
      SELECT name FROM sqlite_master WHERE type = 'trigger'
      UNION ALL SELECT name FROM sqlite_temp_master WHERE type = 'trigger' ORDER BY name
      """
    ) { names.append($0.string(0)) }
    return names == Schema.triggers.keys.sorted()
  }

  /// The query for texts with all words; nil without a word.
  /// Words are sequences of ASCII letters and digits and of all other characters, as in GRDB; each is quoted.
  static func query(_ words: String) -> String? {
    let found = words.utf8.split { byte in
      !(byte >= 0x80 || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
        || (0x61...0x7A).contains(byte))
    }
    guard !found.isEmpty else { return nil }
    return found.map { "\"\(String(decoding: $0, as: UTF8.self))\"" }.joined(separator: " ")
  }
}
