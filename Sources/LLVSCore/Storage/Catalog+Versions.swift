internal import Platform

extension Catalog {
  private func record(_ row: StoreStatement) throws(StoreError) -> VersionRecord {
    let number = row.number(0)
    guard let map = row.bytes(9).parsed({ $0.mapRoot() }) else {
      throw .corrupt("\(path): version \(number.rawValue) has no readable map")
    }
    var changes: StoredContent?
    if let packed = row.optionalBytes(13) {
      guard let stored = packed.parsed({ $0.storedContent() }) else {
        throw .corrupt("\(path): version \(number.rawValue) has no readable change list")
      }
      changes = stored
    }
    return VersionRecord(
      number: number, id: Version.ID(row.text(1)), name: row.text(2),
      first: row.optionalNumber(3), second: row.optionalNumber(4),
      timestamp: Double(bitPattern: UInt64(bitPattern: row.integer(5))),
      generation: UInt32(truncatingIfNeeded: row.integer(6)), line: row.text(7),
      flags: VersionRecord.Flags(rawValue: row.integer(8)), map: map,
      valueDataSize: row.optionalInteger(10), storedAt: row.integer(11),
      packedMetadata: row.bytes(12), changes: changes)
  }

  private func first(_ row: StoreStatement) throws(StoreError) -> VersionRecord? {
    defer { row.reset() }
    return try row.step() ? try record(row) : nil
  }

  private func all(_ row: StoreStatement) throws(StoreError) -> [VersionRecord] {
    defer { row.reset() }
    var records: [VersionRecord] = []
    while try row.step() { records.append(try record(row)) }
    return records
  }

  package func version(_ number: VersionNumber, in database: StoreDatabase) throws(StoreError)
    -> VersionRecord?
  {
    try first(
      database.prepared(
        """
        SELECT number, id, name, first, second, bits, generation, line, flags, map, data_size,
        stored_at, metadata, changes FROM versions WHERE number = ?
        """
      ).bind(1, number))
  }

  func version(_ id: Version.ID, in database: StoreDatabase) throws(StoreError) -> VersionRecord? {
    try first(
      database.prepared(
        """
        SELECT number, id, name, first, second, bits, generation, line, flags, map, data_size,
        stored_at, metadata, changes FROM versions WHERE id = ?
        """
      ).bind(1, Array(id.rawValue.utf8)))
  }

  package func contains(_ id: Version.ID, in database: StoreDatabase) throws(StoreError) -> Bool {
    let statement = try database.prepared("SELECT 1 FROM versions WHERE id = ?")
      .bind(1, Array(id.rawValue.utf8))
    defer { statement.reset() }
    return try statement.step()
  }

  func version(named name: String, in database: StoreDatabase) throws(StoreError) -> VersionRecord?
  {
    try first(
      database.prepared(
        """
        SELECT number, id, name, first, second, bits, generation, line, flags, map, data_size,
        stored_at, metadata, changes FROM versions WHERE name = ?
        """
      ).bind(1, Array(name.utf8)))
  }

  /// Returns at most `limit` versions whose id has a prefix; two of them show that it is ambiguous.
  func versions(
    idPrefix: [UInt8], limit: Int, in database: StoreDatabase
  ) throws(StoreError) -> [VersionRecord] {
    let statement = try database.prepared(
      """
      SELECT number, id, name, first, second, bits, generation, line, flags, map, data_size,
      stored_at, metadata, changes FROM versions WHERE id >= ?1 AND (?2 IS NULL OR id < ?2)
      ORDER BY id LIMIT ?3
      """
    ).bind(1, idPrefix).bind(3, Int64(limit))
    if let end = idPrefix.successor { statement.bind(2, end) }
    return try all(statement)
  }

  func versions(
    afterName name: String?, limit: Int, in database: StoreDatabase
  ) throws(StoreError) -> [VersionRecord] {
    try all(
      database.prepared(
        """
        SELECT number, id, name, first, second, bits, generation, line, flags, map, data_size,
        stored_at, metadata, changes FROM versions WHERE name > ?1 ORDER BY name LIMIT ?2
        """
      ).bind(1, Array((name ?? "").utf8)).bind(2, Int64(limit)))
  }

  /// Returns the next versions from the newest to older ones, by (timestamp, generation, id).
  func versionsNewestFirst(
    before last: VersionRecord?, limit: Int, in database: StoreDatabase
  ) throws(StoreError) -> [VersionRecord] {
    guard let last else {
      return try all(
        database.prepared(
          """
          SELECT number, id, name, first, second, bits, generation, line, flags, map, data_size,
          stored_at, metadata, changes FROM versions
          ORDER BY timestamp DESC, generation DESC, id DESC LIMIT ?1
          """
        ).bind(1, Int64(limit)))
    }
    return try all(
      database.prepared(
        """
        SELECT number, id, name, first, second, bits, generation, line, flags, map, data_size,
        stored_at, metadata, changes FROM versions
        WHERE (timestamp, generation, id) < (?1, ?2, ?3)
        ORDER BY timestamp DESC, generation DESC, id DESC LIMIT ?4
        """
      ).bind(1, last.timestamp).bind(2, Int64(last.generation)).bind(
        3, Array(last.id.rawValue.utf8)
      )
      .bind(4, Int64(limit)))
  }

  func numbers(_ sql: StaticString, _ key: Int64?, in database: StoreDatabase) throws(StoreError)
    -> [VersionNumber]
  {
    let statement = try database.prepared(sql).bind(1, key)
    defer { statement.reset() }
    var numbers: [VersionNumber] = []
    while try statement.step() { numbers.append(statement.number(0)) }
    return numbers
  }

  func successors(of number: VersionNumber, in database: StoreDatabase) throws(StoreError)
    -> [VersionNumber]
  {
    try numbers(
      "SELECT number FROM successors WHERE predecessor = ? ORDER BY number",
      Int64(number.rawValue), in: database)
  }

  func heads(in database: StoreDatabase) throws(StoreError) -> [VersionNumber] {
    try numbers("SELECT number FROM heads ORDER BY number", nil, in: database)
  }

  func heads(ofLine line: String, in database: StoreDatabase) throws(StoreError) -> [VersionNumber]
  {
    let statement = try database.prepared(
      "SELECT number FROM line_heads WHERE line = ? ORDER BY number"
    ).bind(1, Array(line.utf8))
    defer { statement.reset() }
    var numbers: [VersionNumber] = []
    while try statement.step() { numbers.append(statement.number(0)) }
    return numbers
  }

  func lines(after line: String?, limit: Int, in database: StoreDatabase) throws(StoreError)
    -> [String]
  {
    let statement = try database.prepared(
      "SELECT DISTINCT line FROM line_heads WHERE line > ?1 ORDER BY line LIMIT ?2"
    ).bind(1, Array((line ?? "").utf8)).bind(2, Int64(limit))
    defer { statement.reset() }
    var lines: [String] = []
    while try statement.step() { lines.append(statement.text(0)) }
    return lines
  }

  func lastNumber(in database: StoreDatabase) throws(StoreError) -> UInt32 {
    UInt32(truncatingIfNeeded: try database.integer("SELECT max(number) FROM versions") ?? 0)
  }

  /// Adds a version whose predecessors are in the catalog.
  func add(_ record: VersionRecord, in database: StoreDatabase) throws(StoreError) {
    var map: [UInt8] = []
    map.append(record.map)
    var changes: [UInt8]?
    if let stored = record.changes {
      var bytes: [UInt8] = []
      bytes.append(stored)
      changes = bytes
    }
    try database.prepared(
      """
      INSERT INTO versions VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,
      llvs_sum(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15))
      """
    )
    .bind(1, record.number).bind(2, Array(record.id.rawValue.utf8))
    .bind(3, Array(record.name.utf8)).bind(4, record.first).bind(5, record.second)
    // SQLite does not keep the sign of a zero; the column of bits has it.
    .bind(6, record.timestamp == 0 ? 0 : record.timestamp).bind(
      7, Int64(bitPattern: record.timestamp.bitPattern)
    )
    .bind(8, Int64(record.generation)).bind(9, Array(record.line.utf8))
    .bind(10, record.flags.rawValue).bind(11, map).bind(12, record.valueDataSize)
    .bind(13, record.storedAt).bind(14, record.packedMetadata).bind(15, changes)
    .run()
    for predecessor in Set(record.predecessors) {
      try database.prepared("INSERT INTO successors VALUES(?,?)")
        .bind(1, predecessor).bind(2, record.number).run()
    }
    try replaceHeads(by: record, in: database)
  }

  private func replaceHeads(by record: VersionRecord, in database: StoreDatabase) throws(StoreError)
  {
    let line = Array(record.line.utf8)
    var (isHead, isLineHead) = (false, false)
    // The row of the first predecessor that is a head becomes the row of the new head: mostly there
    // is one.
    for predecessor in Set(record.predecessors) {
      try database.prepared(
        isHead
          ? "DELETE FROM heads WHERE number = ?2" : "UPDATE heads SET number = ?1 WHERE number = ?2"
      ).bind(1, record.number).bind(2, predecessor).run()
      isHead = isHead || database.changes > 0
      try database.prepared(
        isLineHead
          ? "DELETE FROM line_heads WHERE line = ?3 AND number = ?2"
          : "UPDATE line_heads SET number = ?1 WHERE line = ?3 AND number = ?2"
      ).bind(1, record.number).bind(2, predecessor).bind(3, line).run()
      isLineHead = isLineHead || database.changes > 0
    }
    if !isHead {
      try database.prepared("INSERT INTO heads VALUES(?)").bind(1, record.number).run()
    }
    if !isLineHead {
      try database.prepared("INSERT INTO line_heads VALUES(?,?)")
        .bind(1, line).bind(2, record.number).run()
    }
  }
}

extension [UInt8] {
  /// The smallest byte string greater than all that begin with these bytes; nil if there is none.
  var successor: [UInt8]? {
    var bytes = self
    while let last = bytes.last {
      if last < 255 {
        bytes[bytes.count - 1] = last + 1
        return bytes
      }
      bytes.removeLast()
    }
    return nil
  }
}
