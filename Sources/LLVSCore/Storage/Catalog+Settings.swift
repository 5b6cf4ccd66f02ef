extension Catalog {
  private func damaged(_ what: String) -> StoreError {
    .corrupt("\(path): \(what) is not what was written")
  }

  /// Returns a property, or its copy if its row is damaged.
  func property(_ name: String, in database: StoreDatabase) throws(StoreError) -> [UInt8]? {
    try essential(name, of: "property") { (name) throws(StoreError) in
      try found(property: name, in: database)
    }.value
  }

  func found(property name: String, in database: StoreDatabase) throws(StoreError) -> Found<[UInt8]>
  {
    try found(
      name,
      "SELECT value, sum IS llvs_sum(name, value) FROM properties WHERE name = ?", in: database
    ) { $0.bytes(0) }
  }

  /// Returns the value of the row with a name, which the statement selects before the answer
  /// whether its sum is right.
  private func found<Value>(
    _ name: String, _ sql: StaticString, in database: StoreDatabase,
    _ value: (StoreStatement) -> Value
  ) throws(StoreError) -> Found<Value> {
    let statement = try database.prepared(sql).bind(1, Array(name.utf8))
    defer { statement.reset() }
    guard try statement.step() else { return .absent }
    return statement.integer(1) == 1 ? .sound(value(statement)) : .damaged
  }

  func setProperty(_ name: String, _ value: [UInt8], in database: StoreDatabase) throws(StoreError)
  {
    let copies = Catalog.properties.contains(name) ? [name, Catalog.copy(of: name)] : [name]
    for name in copies {
      try database.prepared("INSERT OR REPLACE INTO properties VALUES(?1,?2,llvs_sum(?1,?2))")
        .bind(1, Array(name.utf8)).bind(2, value).run()
    }
  }

  func found(counter name: String, in database: StoreDatabase) throws(StoreError) -> Found<Int64> {
    try found(
      name,
      "SELECT value, sum IS llvs_sum(name, value) FROM counters WHERE name = ?", in: database
    ) { $0.integer(0) }
  }

  func setCounter(
    _ kind: Counters.Kind, _ value: Int64, in database: StoreDatabase
  ) throws(StoreError) {
    for name in [kind.rawValue, Catalog.copy(of: kind.rawValue)] {
      try database.prepared("INSERT OR REPLACE INTO counters VALUES(?1,?2,llvs_sum(?1,?2))")
        .bind(1, Array(name.utf8)).bind(2, value).run()
    }
  }

  /// Returns the settings whose rows are undamaged, and the names of the damaged ones.
  func settings(
    in database: StoreDatabase
  ) throws(StoreError) -> (sound: [String: [UInt8]], damaged: [String]) {
    let statement = try database.prepared(
      "SELECT name, value, sum IS llvs_sum(name, value) FROM settings")
    defer { statement.reset() }
    var settings: [String: [UInt8]] = [:]
    var damaged: [String] = []
    while try statement.step() {
      if statement.integer(2) == 1 {
        settings[statement.text(0)] = statement.bytes(1)
      } else {
        damaged.append(statement.text(0))
      }
    }
    return (settings, damaged)
  }

  func setSetting(_ name: String, _ value: [UInt8]?, in database: StoreDatabase) throws(StoreError)
  {
    if let value {
      try database.prepared("INSERT OR REPLACE INTO settings VALUES(?1,?2,llvs_sum(?1,?2))")
        .bind(1, Array(name.utf8)).bind(2, value).run()
    } else {
      try database.prepared("DELETE FROM settings WHERE name = ?").bind(1, Array(name.utf8)).run()
    }
  }

  func peers(in database: StoreDatabase) throws(StoreError) -> [Peer] {
    let statement = try database.prepared(
      "SELECT name, address, state, sum IS llvs_sum(name, address, state) FROM peers ORDER BY name")
    defer { statement.reset() }
    var peers: [Peer] = []
    while try statement.step() {
      // Versions must not be sent to an address in a damaged row; without an address the peer is
      // still listed, and using it fails with a message.
      let isSound = statement.integer(3) == 1
      peers.append(
        Peer(
          name: statement.text(0), address: isSound ? statement.bytes(1) : [],
          state: isSound ? statement.optionalBytes(2) : nil))
    }
    return peers
  }

  func setPeer(_ peer: Peer, in database: StoreDatabase) throws(StoreError) {
    try database.prepared("INSERT OR REPLACE INTO peers VALUES(?1,?2,?3,llvs_sum(?1,?2,?3))")
      .bind(1, Array(peer.name.utf8)).bind(2, peer.address).bind(3, peer.state).run()
  }

  func removePeer(_ name: String, in database: StoreDatabase) throws(StoreError) {
    try database.prepared("DELETE FROM peers WHERE name = ?").bind(1, Array(name.utf8)).run()
  }

  private func logged(_ row: StoreStatement) throws(StoreError) -> HeadLogEntry {
    guard row.integer(5) == row.integer(6) else {
      throw damaged("entry \(row.integer(0)) of the log of heads")
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

  func appendHead(_ entry: HeadLogEntry, in database: StoreDatabase) throws(StoreError) {
    try insert(
      entry,
      "INSERT INTO head_log(time, version, map, reason, sum) VALUES(?1,?2,?3,?4,llvs_sum(?1,?2,?3,?4))",
      in: database
    ).run()
  }

  func set(_ entry: HeadLogEntry, in database: StoreDatabase) throws(StoreError) {
    try insert(
      entry,
      """
      INSERT OR REPLACE INTO head_log(time, version, map, reason, sum, sequence)
      VALUES(?1,?2,?3,?4,llvs_sum(?1,?2,?3,?4),?5)
      """,
      in: database
    ).bind(5, entry.sequence).run()
  }

  private func insert(
    _ entry: HeadLogEntry, _ sql: StaticString, in database: StoreDatabase
  ) throws(StoreError) -> StoreStatement {
    var map: [UInt8]?
    if let root = entry.map {
      var bytes: [UInt8] = []
      bytes.append(root)
      map = bytes
    }
    return try database.prepared(sql)
      .bind(1, entry.time).bind(2, entry.version).bind(3, map).bind(
        4, Array(entry.reason.text.utf8))
  }

  /// Returns the newest entries with a smaller sequence number, newest first.
  func headLog(
    before sequence: Int64, limit: Int, in database: StoreDatabase
  ) throws(StoreError) -> [HeadLogEntry] {
    var entries: [HeadLogEntry] = []
    try forEachHead(before: sequence, in: database) { _, entry throws(StoreError) in
      entries.append(try entry.get())
      return entries.count < limit
    }
    return entries
  }

  /// Calls `body` with the number of each entry and the entry or its error, newest first, until it
  /// returns false.
  func forEachHead(
    before sequence: Int64, in database: StoreDatabase,
    _ body: (Int64, Result<HeadLogEntry, StoreError>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let statement = try database.prepared(
      """
      SELECT sequence, time, version, map, reason, sum, llvs_sum(time, version, map, reason)
      FROM head_log WHERE sequence < ?1 ORDER BY sequence DESC
      """
    ).bind(1, sequence)
    defer { statement.reset() }
    try forEachHead(in: statement, body)
  }

  private func forEachHead(
    in statement: StoreStatement,
    _ body: (Int64, Result<HeadLogEntry, StoreError>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    while try statement.step() {
      let entry = Result { () throws(StoreError) in try logged(statement) }
      guard try body(statement.integer(0), entry) else { return }
    }
  }

  func forEachHead(
    notAfter time: Int64, in database: StoreDatabase,
    _ body: (Int64, Result<HeadLogEntry, StoreError>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let statement = try database.prepared(
      """
      SELECT sequence, time, version, map, reason, sum, llvs_sum(time, version, map, reason)
      FROM head_log WHERE time <= ?1 ORDER BY time DESC, sequence DESC
      """
    ).bind(1, time)
    defer { statement.reset() }
    try forEachHead(in: statement, body)
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
  /// The time of the change, in nanoseconds since 1970.
  package var time: Int64
  /// The head after the change; nil for an empty tree.
  package var version: VersionNumber?
  /// The head's map with the inode numbers that the live tree shows.
  package var map: MapRoot?
  package var reason: HeadReason
}
