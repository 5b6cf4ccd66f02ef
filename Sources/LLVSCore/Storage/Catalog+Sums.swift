// Checksums of the catalog's rows: after a flipped bit a row may still be readable and wrong.
//
// INVARIANT S9: every row that cannot be computed from other rows has `llvs_sum` of its other columns, and every
// statement that writes a row sets it. `verify` compares rows that follow from the versions (successors, heads,
// heads of lines) with the versions. SQLite checks its pages and indexes.

extension StoreDatabase {
  /// The tables with checksums, and the columns that each checksum covers. SQLite chooses `head_log.sequence`, and
  /// its own check tests the order.
  private static let summed = [
    "properties": "name,value", "counters": "name,value", "settings": "name,value",
    "peers": "name,address,state", "links": "link,key", "bundles": "hash,versions",
    "head_log": "time,version,map,reason",
    "remote_bundles": "number,name,state,put,announced,facts",
    "remote_items": "item,bundle,place",
    "versions": "number,id,name,first,second,timestamp,bits,generation,line,flags,map,data_size,"
      + "stored_at,metadata,changes",
  ]

  /// Returns a sentence for each damaged row, up to a hundred of a table, and for rows that contradict versions.
  func damagedRows() throws(StoreError) -> [String] {
    var found: [String] = []
    for (table, columns) in StoreDatabase.summed.sorted(by: { $0.key < $1.key }) {
      let first = columns.prefix { $0 != "," }
      try rows(
        "SELECT \(first) FROM \(table) WHERE sum IS NOT llvs_sum(\(columns)) LIMIT 100"
      ) { row in
        found.append("\(table): the row \(row.words(0)) is not what was written")
      }
    }
    for (table, stored, derived) in StoreDatabase.followed {
      let (rows, right) = ("SELECT * FROM (\(stored))", "SELECT * FROM (\(derived))")
      for (what, more, less) in [("", rows, right), (" what is missing,", right, rows)] {
        try self.rows("SELECT n FROM (\(more) EXCEPT \(less)) LIMIT 100") { row in
          found.append("\(table):\(what) \(row.words(0)) does not follow from the versions")
        }
      }
    }
    return found
  }

  /// The tables that follow from the versions: the existing rows, and the right rows.
  private static let followed = [
    (
      "successors", "SELECT predecessor AS p, number AS n FROM successors",
      "SELECT first AS p, number AS n FROM versions WHERE first IS NOT NULL "
        + "UNION SELECT second, number FROM versions WHERE second IS NOT NULL"
    ),
    (
      "heads", "SELECT number AS n FROM heads",
      "SELECT number AS n FROM versions EXCEPT SELECT predecessor FROM successors"
    ),
    (
      "line_heads", "SELECT line AS l, number AS n FROM line_heads",
      "SELECT v.line AS l, v.number AS n FROM versions v WHERE NOT EXISTS (SELECT 1 FROM successors "
        + "s JOIN versions w ON w.number = s.number WHERE s.predecessor = v.number "
        + "AND w.line = v.line)"
    ),
  ]
}
