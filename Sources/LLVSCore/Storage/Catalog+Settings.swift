extension StoreDatabase {
  /// Returns a property, or its copy if its row is damaged.
  func property(_ name: String) throws(StoreError) -> [UInt8]? {
    try essential(name, of: "property") { (name) throws(StoreError) in
      try found(property: name)
    }.value
  }

  func found(property name: String) throws(StoreError) -> Found<[UInt8]> {
    try found(
      name,
      "SELECT value, sum IS llvs_sum(name, value) FROM properties WHERE name = ?"
    ) { $0.bytes(0) }
  }

  /// Returns the value of the row with a name. The statement selects it, then whether its sum is right.
  private func found<Value>(
    _ name: String, _ sql: StaticString,
    _ value: (StoreStatement) -> Value
  ) throws(StoreError) -> Found<Value> {
    try prepared(sql).bind(1, name).first { $0.integer(1) == 1 ? .sound(value($0)) : .damaged }
      ?? .absent
  }

  func setProperty(_ name: String, _ value: [UInt8]) throws(StoreError) {
    let copies =
      StoreDatabase.isKeptTwice(name) ? [name, StoreDatabase.copy(of: name)] : [name]
    for name in copies {
      try prepared("INSERT OR REPLACE INTO properties VALUES(?1,?2,llvs_sum(?1,?2))")
        .bind(1, name).bind(2, value).run()
    }
  }

  func found(counter name: String) throws(StoreError) -> Found<Int64> {
    try found(
      name,
      "SELECT value, sum IS llvs_sum(name, value) FROM counters WHERE name = ?"
    ) { $0.integer(0) }
  }

  func setCounter(_ kind: Counters.Kind, _ value: Int64) throws(StoreError) {
    for name in [kind.rawValue, StoreDatabase.copy(of: kind.rawValue)] {
      try prepared("INSERT OR REPLACE INTO counters VALUES(?1,?2,llvs_sum(?1,?2))")
        .bind(1, name).bind(2, value).run()
    }
  }

  /// Returns the settings whose rows are undamaged, and the names of the damaged ones.
  func settings() throws(StoreError) -> (sound: [String: [UInt8]], damaged: [String]) {
    var settings: [String: [UInt8]] = [:]
    var damaged: [String] = []
    try prepared("SELECT name, value, sum IS llvs_sum(name, value) FROM settings").forEach { row in
      if row.integer(2) == 1 {
        settings[row.text(0)] = row.bytes(1)
      } else {
        damaged.append(row.text(0))
      }
      return true
    }
    return (settings, damaged)
  }

  func setSetting(_ name: String, _ value: [UInt8]?) throws(StoreError) {
    if let value {
      try prepared("INSERT OR REPLACE INTO settings VALUES(?1,?2,llvs_sum(?1,?2))")
        .bind(1, name).bind(2, value).run()
    } else {
      try prepared("DELETE FROM settings WHERE name = ?").bind(1, name).run()
    }
  }

  func peers() throws(StoreError) -> [Peer] {
    try prepared(
      "SELECT name, address, state, sum IS llvs_sum(name, address, state) FROM peers ORDER BY name"
    ).all { row in
      // Versions must not be sent to an address in a damaged row: using the listed peer fails.
      let isSound = row.integer(3) == 1
      return Peer(
        name: row.text(0), address: isSound ? row.bytes(1) : [],
        state: isSound ? row.optionalBytes(2) : nil)
    }
  }

  func setPeer(_ name: String, _ peer: Peer?) throws(StoreError) {
    guard let peer else {
      return try prepared("DELETE FROM peers WHERE name = ?").bind(1, name).run()
    }
    try prepared("INSERT OR REPLACE INTO peers VALUES(?1,?2,?3,llvs_sum(?1,?2,?3))")
      .bind(1, name).bind(2, peer.address).bind(3, peer.state).run()
  }

  private func logged(_ row: StoreStatement) throws(StoreError) -> HeadLogEntry {
    guard row.integer(5) == row.integer(6) else {
      throw .corrupt("\(path): entry \(row.integer(0)) of the log of heads is not what was written")
    }
    var map: MapRoot?
    if let bytes = row.optionalBytes(3) {
      guard let root = bytes.parsed({ $0.mapRoot() }) else {
        throw .corrupt("\(path): the log of heads has an unreadable map")
      }
      map = root
    }
    return HeadLogEntry(
      sequence: row.integer(0), time: row.integer(1), version: row.optionalNumber(2), map: map,
      reason: HeadReason(text: row.text(4)))
  }

  func appendHead(_ entry: HeadLogEntry) throws(StoreError) {
    try insert(
      entry,
      "INSERT INTO head_log(time, version, map, reason, sum) VALUES(?1,?2,?3,?4,llvs_sum(?1,?2,?3,?4))"
    ).run()
  }

  func set(_ entry: HeadLogEntry) throws(StoreError) {
    try insert(
      entry,
      """
      INSERT OR REPLACE INTO head_log(time, version, map, reason, sum, sequence)
      VALUES(?1,?2,?3,?4,llvs_sum(?1,?2,?3,?4),?5)
      """
    ).bind(5, entry.sequence).run()
  }

  private func insert(
    _ entry: HeadLogEntry, _ sql: StaticString
  ) throws(StoreError) -> StoreStatement {
    try prepared(sql).bind(1, entry.time).bind(2, entry.version).bind(3, entry.map?.encoded)
      .bind(4, entry.reason.text)
  }

  /// Returns the newest entries with a smaller sequence number, newest first.
  func headLog(before sequence: Int64, limit: Int) throws(StoreError) -> [HeadLogEntry] {
    var entries: [HeadLogEntry] = []
    try forEachHead(in: heads(before: sequence)) { _, entry throws(StoreError) in
      entries.append(try entry.get())
      return entries.count < limit
    }
    return entries
  }

  /// Returns the entries with a smaller sequence number, newest first, for ``forEachHead(in:_:)``.
  func heads(before sequence: Int64) throws(StoreError) -> StoreStatement {
    try prepared(
      """
      SELECT sequence, time, version, map, reason, sum, llvs_sum(time, version, map, reason)
      FROM head_log WHERE sequence < ?1 ORDER BY sequence DESC
      """
    ).bind(1, sequence)
  }

  /// Returns the entries at or before a time, newest first, for ``forEachHead(in:_:)``.
  func heads(notAfter time: Int64) throws(StoreError) -> StoreStatement {
    try prepared(
      """
      SELECT sequence, time, version, map, reason, sum, llvs_sum(time, version, map, reason)
      FROM head_log WHERE time <= ?1 ORDER BY time DESC, sequence DESC
      """
    ).bind(1, time)
  }

  /// Calls `body` with the number of each entry and the entry or its error, until it returns false.
  func forEachHead(
    in statement: StoreStatement,
    _ body: (Int64, Result<HeadLogEntry, StoreError>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try statement.forEach { (row) throws(StoreError) in
      try body(row.integer(0), Result { () throws(StoreError) in try logged(row) })
    }
  }
}

/// A peer: its name, its address, and the state that exchanges keep about it.
package struct Peer: Hashable, Sendable {
  package var name: String
  /// The address; empty if its row is damaged.
  package var address: [UInt8]
  /// Lines `name=value` that exchanges keep; nil before the first.
  package var state: [UInt8]?

  package init(name: String, address: [UInt8], state: [UInt8]? = nil) {
    self.name = name
    self.address = address
    self.state = state
  }
}

/// One change of the live tree's head.
package struct HeadLogEntry: Hashable, Sendable {
  package var sequence: Int64
  /// In nanoseconds since 1970.
  package var time: Int64
  /// Nil for an empty tree.
  package var version: VersionNumber?
  /// The head's map with the inode numbers that the live tree shows.
  package var map: MapRoot?
  package var reason: HeadReason
}
