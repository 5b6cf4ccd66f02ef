/// Properties, counters, settings, peers, the log of heads.
extension Catalog {
  func property(_ name: String, in database: Database) throws(StoreError) -> [UInt8]? {
    let statement = try database.prepared("SELECT value FROM properties WHERE name = ?")
      .bind(1, Array(name.utf8))
    defer { statement.reset() }
    return try statement.step() ? statement.bytes(0) : nil
  }

  func setProperty(_ name: String, _ value: [UInt8], in database: Database) throws(StoreError) {
    try database.prepared("INSERT OR REPLACE INTO properties VALUES(?,?)")
      .bind(1, Array(name.utf8)).bind(2, value).run()
  }

  func counter(_ name: String, in database: Database) throws(StoreError) -> Int64 {
    let statement = try database.prepared("SELECT value FROM counters WHERE name = ?")
      .bind(1, Array(name.utf8))
    defer { statement.reset() }
    return try statement.step() ? statement.integer(0) : 0
  }

  func setCounter(_ name: String, _ value: Int64, in database: Database) throws(StoreError) {
    try database.prepared("INSERT OR REPLACE INTO counters VALUES(?,?)")
      .bind(1, Array(name.utf8)).bind(2, value).run()
  }

  func settings(in database: Database) throws(StoreError) -> [String: [UInt8]] {
    let statement = try database.prepared("SELECT name, value FROM settings")
    defer { statement.reset() }
    var settings: [String: [UInt8]] = [:]
    while try statement.step() { settings[statement.text(0)] = statement.bytes(1) }
    return settings
  }

  func setSetting(_ name: String, _ value: [UInt8]?, in database: Database) throws(StoreError) {
    if let value {
      try database.prepared("INSERT OR REPLACE INTO settings VALUES(?,?)")
        .bind(1, Array(name.utf8)).bind(2, value).run()
    } else {
      try database.prepared("DELETE FROM settings WHERE name = ?").bind(1, Array(name.utf8)).run()
    }
  }

  func peers(in database: Database) throws(StoreError) -> [Peer] {
    let statement = try database.prepared("SELECT name, address, state FROM peers ORDER BY name")
    defer { statement.reset() }
    var peers: [Peer] = []
    while try statement.step() {
      peers.append(
        Peer(
          name: statement.text(0), address: statement.bytes(1), state: statement.optionalBytes(2)))
    }
    return peers
  }

  func setPeer(_ peer: Peer, in database: Database) throws(StoreError) {
    try database.prepared("INSERT OR REPLACE INTO peers VALUES(?,?,?)")
      .bind(1, Array(peer.name.utf8)).bind(2, peer.address).bind(3, peer.state).run()
  }

  func removePeer(_ name: String, in database: Database) throws(StoreError) {
    try database.prepared("DELETE FROM peers WHERE name = ?").bind(1, Array(name.utf8)).run()
  }

  // MARK: The log of heads

  private func logged(_ row: Statement) throws(StoreError) -> HeadLogEntry {
    var map: MapRoot?
    if let bytes = row.optionalBytes(3) {
      guard let root = bytes.parsed({ $0.mapRoot() }) else {
        throw .corrupt("\(path): the log of heads has an unreadable map")
      }
      map = root
    }
    return HeadLogEntry(
      sequence: row.integer(0), time: row.integer(1), version: row.optionalNumber(2), map: map,
      reason: row.text(4))
  }

  func appendHead(_ entry: HeadLogEntry, in database: Database) throws(StoreError) {
    var map: [UInt8]?
    if let root = entry.map {
      var bytes: [UInt8] = []
      bytes.append(root)
      map = bytes
    }
    try database.prepared("INSERT INTO head_log(time, version, map, reason) VALUES(?,?,?,?)")
      .bind(1, entry.time).bind(2, entry.version).bind(3, map).bind(4, Array(entry.reason.utf8))
      .run()
  }

  /// The newest entries with a smaller sequence number, newest first.
  func headLog(
    before sequence: Int64, limit: Int, in database: Database
  ) throws(StoreError) -> [HeadLogEntry] {
    let statement = try database.prepared(
      """
      SELECT sequence, time, version, map, reason FROM head_log WHERE sequence < ?1
      ORDER BY sequence DESC LIMIT ?2
      """
    ).bind(1, sequence).bind(2, Int64(limit))
    defer { statement.reset() }
    var entries: [HeadLogEntry] = []
    while try statement.step() { entries.append(try logged(statement)) }
    return entries
  }

  /// The newest entry at or before a time.
  func head(at time: Int64, in database: Database) throws(StoreError) -> HeadLogEntry? {
    let statement = try database.prepared(
      """
      SELECT sequence, time, version, map, reason FROM head_log WHERE time <= ?1
      ORDER BY time DESC, sequence DESC LIMIT 1
      """
    ).bind(1, time)
    defer { statement.reset() }
    return try statement.step() ? try logged(statement) : nil
  }
}

/// A peer: its name, its address, and what the exchange wants to remember of it.
package struct Peer: Hashable, Sendable {
  package var name: String
  package var address: [UInt8]
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
  /// Nanoseconds since 1970.
  package var time: Int64
  package var version: VersionNumber?
  /// What the live tree's names and inodes were: the head's map with local numbers of its own.
  package var map: MapRoot?
  package var reason: String
}
