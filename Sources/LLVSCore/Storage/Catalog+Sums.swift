// Checksums of the catalog's rows: after a flipped bit a row may still be readable and wrong.
//
// INVARIANT S9: every row that cannot be computed from other rows has `llvs_sum` of its other
//   columns, and every statement that writes a row sets it. Rows that follow from the
//   versions (successors, heads, heads of lines) are compared with the versions by `verify`; SQLite
//   checks its pages and indexes.

extension Catalog {
  /// The tables with checksums, and the columns that each checksum covers.
  ///
  /// `head_log.sequence` is not covered: SQLite chooses it when the row is inserted, and a wrong
  /// number breaks the order that SQLite's own check tests.
  private static let summed = [
    "properties": "name,value", "counters": "name,value", "settings": "name,value",
    "peers": "name,address,state", "links": "link,key", "bundles": "hash,versions",
    "head_log": "time,version,map,reason",
    "remote_bundles": "number,name,state,put,announced,facts",
    "remote_items": "item,bundle,place",
    "versions": "number,id,name,first,second,timestamp,bits,generation,line,flags,map,data_size,"
      + "stored_at,metadata,changes",
  ]

  /// Returns one sentence for each damaged row, for up to a hundred of a table, and for each row of
  /// successors and heads that contradicts the versions.
  func damagedRows(in database: StoreDatabase) throws(StoreError) -> [String] {
    var found: [String] = []
    for (table, columns) in Catalog.summed.sorted(by: { $0.key < $1.key }) {
      let first = columns.prefix { $0 != "," }
      try database.rows(
        "SELECT \(first) FROM \(table) WHERE sum IS NOT llvs_sum(\(columns)) LIMIT 100"
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

  private static let successors =
    "SELECT first AS p, number AS n FROM versions WHERE first IS NOT NULL "
    + "UNION SELECT second, number FROM versions WHERE second IS NOT NULL"
  private static let heads =
    "SELECT number FROM versions EXCEPT SELECT predecessor FROM successors"
  private static let lineHeads =
    "SELECT v.line AS l, v.number AS n FROM versions v WHERE NOT EXISTS (SELECT 1 FROM successors s "
    + "JOIN versions w ON w.number = s.number WHERE s.predecessor = v.number AND w.line = v.line)"
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
