package import LLVSCore
internal import SQLite

extension SearchIndex {
  static let unreadable: Int64 = 0

  func fact(_ name: String) throws -> String? {
    try database.prepared("SELECT value FROM facts WHERE name = ?").bind(1, name)
      .first { $0.text(0) }
  }

  func set(_ name: String, to value: String) throws {
    try database.prepared(
      "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    ).bind(1, name).bind(2, value).run()
  }

  /// The text of a fact for a version, with the name, because a store that was set back reuses numbers.
  private static func name(_ record: VersionRecord) -> String {
    "\(record.number.rawValue) \(record.name)"
  }

  /// The version of a fact; nil if the store lacks it.
  private func version(named fact: String?) throws -> VersionRecord? {
    guard let fact, let number = fact.split(separator: " ").first.flatMap({ UInt32($0) }),
      let record = try store.version(VersionNumber(number)), Self.name(record) == fact
    else { return nil }
    return record
  }

  /// Brings the index up to the store's head, and history to its newest version if it was ever searched.
  /// - Complexity: O(*k* log *n*) for *k* files that differ; reads new contents.
  package func catchUp() throws(StoreError) {
    try healing {
      guard let head = try store.headRecord() else { return }
      try catchUp(to: head)
      if try fact("history") != nil { try catchUpHistory() }
    }
  }

  package var valueCount: Int {
    get throws(StoreError) {
      try healing { Int(try database.integer("SELECT max(id) FROM content") ?? 0) }
    }
  }

  /// True if the rows are those of a version.
  func isAt(_ head: VersionRecord) throws -> Bool {
    try fact("head") == Self.name(head) && fact("towards") == nil
  }

  func isCurrent(_ head: VersionRecord) throws -> Bool {
    try isAt(head) && hasForgotten()
  }

  func catchUp(to head: VersionRecord) throws {
    guard try !isCurrent(head) else { return }
    try alone {
      guard try !isCurrent(head) else { return }
      try renewIfForgotten(head)
      try renewIfWasteful(head)
      var base = store.map(.empty)
      if try fact("towards") == nil, let known = try version(named: try fact("head")) {
        base = store.map(of: known)
      } else {
        try database.execute("DELETE FROM tree")
      }
      try set("towards", to: Self.name(head))
      let map = store.map(of: head)
      var diff = try MapDiff(from: base, to: map)
      try inTransactions { size in
        var done = 0
        while let change = try diff.next() {
          guard !change.isDirectory else { continue }
          try update(change, in: head, &size)
          done += 1
          if done % 256 == 0 { progress(done, Int(clamping: map.count)) }
          try endIfFull(&size)
        }
        try set("head", to: Self.name(head))
        try database.prepared("DELETE FROM facts WHERE name = 'towards'").run()
      }
    }
  }

  func catchUpHistory() throws {
    let last = store.mode == .writer ? store.lastNumber : try store.state().lastNumber
    func next() throws -> UInt32 {
      let known = try fact("history")
      if let record = try version(named: known) { return record.number.rawValue + 1 }
      // The store has lost the versions of these rows.
      if known != nil { try database.execute("DELETE FROM history") }
      return 1
    }
    guard try next() <= last else { return }
    try alone {
      try inTransactions { size in
        for number in try next()...max(last, try next()) {
          guard let record = try store.version(VersionNumber(number)) else { continue }
          let before = try store.version(record.first)
          var diff = try MapDiff(
            from: store.map(of: before), to: store.map(of: record))
          while let change = try diff.next() {
            guard let new = change.new, new.kind == .regular, new.storedVersion == record.number
            else { continue }
            // Forgotten bytes can be readable as long as they share a block with others.
            let content =
              try store.hasBytes(of: new.stored) ? contentID(new, &size) : Self.unreadable
            try database.prepared("INSERT OR IGNORE INTO history VALUES (?, ?, ?)")
              .bind(1, content).bind(2, try pathID(new.key)).bind(3, Int64(number)).run()
            try endIfFull(&size)
          }
          progress(Int(number), Int(last))
          // The rows are right without later ones.
          try set("history", to: Self.name(record))
        }
      }
    }
  }

  /// Retries values that could not be read before.
  func retryUnreadable(_ head: VersionRecord) throws {
    let keys = try unreadableKeys(atMost: 64)
    guard !keys.isEmpty else { return }
    try alone {
      try inTransactions { size in
        let map = store.map(of: head)
        for key in keys {
          guard let entry = try map.entry(at: key) else { continue }
          try update(MapChange(old: nil, new: entry), in: head, &size)
        }
      }
    }
  }

  func unreadableKeys(atMost limit: Int) throws -> [Key] {
    try database.prepared(
      "SELECT key FROM tree JOIN paths ON paths.id = path WHERE content = 0 LIMIT ?"
    ).bind(1, Int64(limit)).all { Key(bytes: $0.bytes(0)) }
  }

  /// `size` is of the open transaction's rows, in bytes.
  private func inTransactions(_ body: (_ size: inout Int) throws -> Void) throws {
    try database.execute("BEGIN IMMEDIATE")
    do {
      var size = 0
      try body(&size)
      try database.execute("COMMIT")
    } catch StoreError.cancelled {
      // The indexed part stays, with its state.
      try database.execute("COMMIT")
      throw StoreError.cancelled
    } catch {
      database.rollBack()
      throw error
    }
  }

  private func endIfFull(_ size: inout Int) throws {
    if isCancelled() { throw StoreError.cancelled }
    guard size > Self.batchLimit else { return }
    try database.execute("COMMIT; BEGIN IMMEDIATE")
    size = 0
  }

  private func update(
    _ change: MapChange, in head: VersionRecord, _ size: inout Int
  ) throws {
    let path = try pathID(change.key)
    size += 64
    guard let new = change.new, new.kind == .regular else {
      try database.prepared("DELETE FROM tree WHERE path = ?").bind(1, path).run()
      return
    }
    let time = new.attributes.mtime?.seconds ?? Int64(head.timestamp + 978_307_200)
    let content = try contentID(new, &size)
    // INSERT OR REPLACE would take twice as long: it runs in a savepoint, where FTS5 writes out its words.
    try database.prepared(
      """
      INSERT INTO tree VALUES (?, ?, ?)
      ON CONFLICT (path) DO UPDATE SET content = excluded.content, time = excluded.time
      """
    ).bind(1, path).bind(2, content).bind(3, time).run()
  }

  private func pathID(_ key: Key) throws -> Int64 {
    let known = try database.prepared("SELECT id FROM paths WHERE key = ?").bind(1, key.bytes)
    if let id = try known.first({ $0.integer(0) }) { return id }
    try database.prepared("INSERT INTO paths (key) VALUES (?)").bind(1, key.bytes).run()
    let id = database.lastInsertedRow
    try database.prepared("INSERT INTO names (rowid, text) VALUES (?, ?)")
      .bind(1, id).bind(2, SearchText.ofPath(KeyCoding.path(of: key) ?? key.bytes)).run()
    return id
  }

  private func contentID(_ entry: Entry, _ size: inout Int) throws -> Int64 {
    let digest = entry.stored.digest.bytes
    let known = try database.prepared("SELECT id FROM content WHERE digest = ?").bind(1, digest)
    if let id = try known.first({ $0.integer(0) }) { return id }
    let text: String?
    do throws(StoreError) {
      text = try self.text(of: entry)
    } catch {
      return Self.unreadable  // The files with other bytes are still found.
    }
    let isCut = text != nil && entry.stored.length > UInt64(textLimit)
    try database.prepared("INSERT INTO content (digest, isCut) VALUES (?, ?)")
      .bind(1, digest).bind(2, Int64(isCut ? 1 : 0)).run()
    let id = database.lastInsertedRow
    size += 128
    if let text {
      size += text.utf8.count
      try database.prepared("INSERT INTO words (rowid, text) VALUES (?, ?)")
        .bind(1, id).bind(2, SearchText.separated(text)).run()
    }
    return id
  }

  /// Returns the text of a file, or its beginning.
  func text(of entry: Entry) throws(StoreError) -> String? {
    let (stored, contents) = (entry.stored, store.contents)
    guard stored.length > 0 else { return nil }
    // A file with a NUL at its beginning is not read to its end.
    if stored.length > 65_536,
      SearchText.isBinary(try contents.bytes(stored, from: 0, count: 8192))
    {
      return nil
    }
    let bytes = try contents.bytes(stored, from: 0, count: textLimit)
    return SearchText.text(bytes, isCut: stored.length > UInt64(textLimit))
  }
}
