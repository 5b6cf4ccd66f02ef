extension StoreDatabase {
  private func map(_ packed: [UInt8], of number: VersionNumber) throws(StoreError) -> MapRoot {
    guard let map = packed.parsed({ $0.mapRoot() }) else {
      throw .corrupt("\(path): version \(number.rawValue) has no readable map")
    }
    return map
  }

  private func record(_ row: StoreStatement) throws(StoreError) -> VersionRecord {
    let number = row.number(0)
    var changes: StoredContent?
    if let packed = row.optionalBytes(14) {
      guard let stored = packed.parsed({ $0.storedContent() }) else {
        throw .corrupt("\(path): version \(number.rawValue) has no readable change list")
      }
      changes = stored
    }
    return VersionRecord(
      number: number, id: Version.ID(row.text(1)), name: row.text(2),
      first: row.optionalNumber(3), second: row.optionalNumber(4),
      // SQLite does not keep the sign of a zero; the column of bits has it.
      timestamp: Double(bitPattern: UInt64(bitPattern: row.integer(6))),
      generation: UInt32(truncatingIfNeeded: row.integer(7)), line: row.text(8),
      flags: VersionRecord.Flags(rawValue: row.integer(9)), map: try map(row.bytes(10), of: number),
      valueDataSize: row.optionalInteger(11), storedAt: row.integer(12),
      packedMetadata: row.bytes(13), changes: changes)
  }

  func version(_ number: VersionNumber) throws(StoreError) -> VersionRecord? {
    try prepared("SELECT * FROM versions WHERE number = ?").bind(1, number).first(record)
  }

  func version(_ id: Version.ID) throws(StoreError) -> VersionRecord? {
    try prepared("SELECT * FROM versions WHERE id = ?").bind(1, id.rawValue).first(record)
  }

  func version(named name: String) throws(StoreError) -> VersionRecord? {
    try prepared("SELECT * FROM versions WHERE name = ?").bind(1, name).first(record)
  }

  package func number(of id: Version.ID) throws(StoreError) -> VersionNumber? {
    try prepared("SELECT number FROM versions WHERE id = ?").bind(1, id.rawValue)
      .first { $0.number(0) }
  }

  /// Returns at most `limit` versions whose id has a prefix; two are enough to see that it is ambiguous.
  func versions(idPrefix: [UInt8], limit: Int) throws(StoreError) -> [VersionRecord] {
    try prepared(
      """
      SELECT * FROM versions WHERE id >= ?1 AND (?2 IS NULL OR id < ?2) ORDER BY id LIMIT ?3
      """
    ).bind(1, idPrefix).bind(2, idPrefix.successor).bind(3, Int64(limit)).all(record)
  }

  func versions(afterName name: String?, limit: Int) throws(StoreError) -> [VersionRecord] {
    try prepared("SELECT * FROM versions WHERE name > ?1 ORDER BY name LIMIT ?2")
      .bind(1, name ?? "").bind(2, Int64(limit)).all(record)
  }

  /// Returns the next older versions, newest first by (timestamp, generation, id).
  func versionsNewestFirst(
    before last: VersionRecord?, limit: Int
  ) throws(StoreError) -> [VersionRecord] {
    guard let last else {
      return try prepared(
        """
        SELECT * FROM versions ORDER BY timestamp DESC, generation DESC, id DESC LIMIT ?1
        """
      ).bind(1, Int64(limit)).all(record)
    }
    return try prepared(
      """
      SELECT * FROM versions WHERE (timestamp, generation, id) < (?1, ?2, ?3)
      ORDER BY timestamp DESC, generation DESC, id DESC LIMIT ?4
      """
    ).bind(1, last.timestamp).bind(2, Int64(last.generation)).bind(3, last.id.rawValue)
      .bind(4, Int64(limit)).all(record)
  }

  func versionLines(after number: UInt32, limit: Int) throws(StoreError) -> [VersionLine] {
    try prepared(
      """
      SELECT number, name, first, second, map FROM versions WHERE number > ?1
      ORDER BY number LIMIT ?2
      """
    ).bind(1, Int64(number)).bind(2, Int64(limit)).all(versionLine)
  }

  func versionLines(before number: UInt32, limit: Int) throws(StoreError) -> [VersionLine] {
    try prepared(
      """
      SELECT number, name, first, second, map FROM versions WHERE number < ?1
      ORDER BY number DESC LIMIT ?2
      """
    ).bind(1, Int64(number)).bind(2, Int64(limit)).all(versionLine)
  }

  private func versionLine(_ row: StoreStatement) throws(StoreError) -> VersionLine {
    VersionLine(
      number: row.number(0), name: row.text(1), first: row.optionalNumber(2),
      second: row.optionalNumber(3), map: try map(row.bytes(4), of: row.number(0)))
  }

  func successors(of number: VersionNumber) throws(StoreError) -> [VersionNumber] {
    try prepared("SELECT number FROM successors WHERE predecessor = ? ORDER BY number")
      .bind(1, number).all { $0.number(0) }
  }

  func heads() throws(StoreError) -> [VersionNumber] {
    try prepared("SELECT number FROM heads ORDER BY number").all { $0.number(0) }
  }

  func heads(ofLine line: String) throws(StoreError) -> [VersionNumber] {
    try prepared("SELECT number FROM line_heads WHERE line = ? ORDER BY number").bind(1, line)
      .all { $0.number(0) }
  }

  func lines(after line: String?, limit: Int) throws(StoreError) -> [String] {
    try prepared("SELECT DISTINCT line FROM line_heads WHERE line > ?1 ORDER BY line LIMIT ?2")
      .bind(1, line ?? "").bind(2, Int64(limit)).all { $0.text(0) }
  }

  func lastNumber() throws(StoreError) -> UInt32 {
    UInt32(truncatingIfNeeded: try integer("SELECT max(number) FROM versions") ?? 0)
  }

  func add(_ record: VersionRecord) throws(StoreError) {
    try prepared(
      """
      INSERT INTO versions VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,
      llvs_sum(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15))
      """
    )
    .bind(1, record.number).bind(2, record.id.rawValue).bind(3, record.name)
    .bind(4, record.first).bind(5, record.second)
    .bind(6, record.timestamp == 0 ? 0 : record.timestamp)
    .bind(7, Int64(bitPattern: record.timestamp.bitPattern))
    .bind(8, Int64(record.generation)).bind(9, record.line).bind(10, record.flags.rawValue)
    .bind(11, record.map.encoded).bind(12, record.valueDataSize).bind(13, record.storedAt)
    .bind(14, record.packedMetadata).bind(15, record.changes?.encoded).run()
    for predecessor in Set(record.predecessors) {
      try prepared("INSERT INTO successors VALUES(?,?)")
        .bind(1, predecessor).bind(2, record.number).run()
    }
    try replaceHeads(by: record)
  }

  private func replaceHeads(by record: VersionRecord) throws(StoreError) {
    let line = Array(record.line.utf8)
    var (isHead, isLineHead) = (false, false)
    // The row of the first predecessor that is a head becomes the row of the new head.
    for predecessor in Set(record.predecessors) {
      try prepared(
        isHead
          ? "DELETE FROM heads WHERE number = ?2" : "UPDATE heads SET number = ?1 WHERE number = ?2"
      ).bind(1, record.number).bind(2, predecessor).run()
      isHead = isHead || changes > 0
      try prepared(
        isLineHead
          ? "DELETE FROM line_heads WHERE line = ?3 AND number = ?2"
          : "UPDATE line_heads SET number = ?1 WHERE line = ?3 AND number = ?2"
      ).bind(1, record.number).bind(2, predecessor).bind(3, line).run()
      isLineHead = isLineHead || changes > 0
    }
    if !isHead { try prepared("INSERT INTO heads VALUES(?)").bind(1, record.number).run() }
    if !isLineHead {
      try prepared("INSERT INTO line_heads VALUES(?,?)").bind(1, line).bind(2, record.number).run()
    }
  }
}

/// The part of a version's record that listings need.
package struct VersionLine: Hashable, Sendable {
  package var number: VersionNumber
  package var name: String
  package var first: VersionNumber?
  package var second: VersionNumber?
  package var map: MapRoot
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
