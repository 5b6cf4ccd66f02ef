// Checksums of the catalog's rows: after a flipped bit a row may still be readable and wrong.
//
// INVARIANT S9: every row that cannot be computed from other rows has `llvs_sum` of its other
//   columns, and every statement that writes a row sets it (format 2). Rows that follow from the
//   versions (successors, heads, heads of lines) are compared with the versions by `verify`; SQLite
//   checks its pages and indexes.

extension Catalog {
  /// The tables with checksums, and the columns that each checksum covers.
  ///
  /// `head_log.sequence` is not covered: SQLite chooses it when the row is inserted, and a wrong
  /// number breaks the order that SQLite's own check tests.
  private static let summed = [
    "properties": "name,value", "counters": "name,value", "settings": "name,value",
    "peers": "name,address,state", "implied": "path,inode", "links": "link,key",
    "directory_times": "inode,seconds,nanoseconds", "bundles": "hash,versions",
    "head_log": "time,version,map,reason",
    "versions": "number,id,name,first,second,timestamp,bits,generation,line,flags,map,data_size,"
      + "stored_at,metadata,changes",
  ]

  /// The same of tables that had checksums from the start.
  private static let alwaysSummed = [
    "remote_bundles": "number,name,state,put,announced,facts",
    "remote_items": "item,bundle,place",
  ]

  /// Adds checksums to the rows of a catalog of format 1, inside a transaction.
  ///
  /// - Complexity: O(rows), once in the life of a store.
  static func addSums(to database: StoreDatabase) throws(StoreError) {
    for (table, columns) in summed.sorted(by: { $0.key < $1.key }) {
      try database.execute("ALTER TABLE \(table) ADD COLUMN sum INTEGER")
      try database.execute("UPDATE \(table) SET sum = llvs_sum(\(columns))")
    }
  }

  /// Returns one sentence for each damaged row, for up to a hundred of a table, and for each row of
  /// successors and heads that contradicts the versions.
  func damagedRows(in database: StoreDatabase) throws(StoreError) -> [String] {
    var found: [String] = []
    let summed = Catalog.summed.merging(hasRemoteBundles ? Catalog.alwaysSummed : [:]) { $1 }
    for (table, columns) in summed.sorted(by: { $0.key < $1.key }) where hasSums {
      let first = columns.prefix { $0 != "," }
      try database.rows(
        "SELECT \(first) FROM \(table) WHERE sum IS NOT llvs_sum(\(columns))"
          + (table == "versions" ? Catalog.exceptNegativeZero(columns) : "") + " LIMIT 100"
      ) { row in
        found.append("\(table): the row \(row.words(0)) is not what was written")
      }
    }
    for (what, sql) in Catalog.followed {
      try database.rows(sql + " LIMIT 100") { row in
        found.append("\(what) \(row.words(0)) does not follow from the versions")
      }
    }
    return found
  }

  /// Excludes versions with the time -0.0 of programs that computed the sum with the zero's sign:
  /// SQLite returns the column without the sign, and the column of bits counts.
  private static func exceptNegativeZero(_ columns: String) -> String {
    " AND NOT (bits = \(Int64.min) AND timestamp = 0 AND sum IS llvs_sum_negative(\(columns)))"
  }

  private static let successors =
    "SELECT first AS p, number AS n FROM versions WHERE first IS NOT NULL "
    + "UNION SELECT second, number FROM versions WHERE second IS NOT NULL"
  private static let heads =
    "SELECT number FROM versions EXCEPT SELECT predecessor FROM successors"
  private static let lineHeads =
    "SELECT v.line AS l, v.number AS n FROM versions v WHERE NOT EXISTS (SELECT 1 FROM successors s "
    + "JOIN versions w ON w.number = s.number WHERE s.predecessor = v.number AND w.line = v.line)"
  /// Queries for rows that are there and should not be, or that are missing.
  private static let followed: [(String, String)] = [
    (
      "successors:",
      "SELECT n FROM (SELECT predecessor AS p, number AS n FROM successors EXCEPT "
        + "SELECT p, n FROM (\(successors)))"
    ),
    (
      "successors: what is missing,",
      "SELECT n FROM (SELECT p, n FROM (\(successors)) EXCEPT SELECT predecessor, number FROM successors)"
    ),
    (
      "heads:",
      "SELECT number FROM (SELECT number FROM heads EXCEPT SELECT number FROM (\(heads)))"
    ),
    (
      "heads: what is missing,",
      "SELECT number FROM (SELECT number FROM (\(heads)) EXCEPT SELECT number FROM heads)"
    ),
    (
      "line_heads:",
      "SELECT n FROM (SELECT line AS l, number AS n FROM line_heads EXCEPT "
        + "SELECT l, n FROM (\(lineHeads)))"
    ),
    (
      "line_heads: what is missing,",
      "SELECT n FROM (SELECT l, n FROM (\(lineHeads)) EXCEPT SELECT line, number FROM line_heads)"
    ),
  ]
}
