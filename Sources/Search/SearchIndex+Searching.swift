package import LLVSCore
internal import SQLite
internal import TreeNames

extension SearchIndex {
  package enum Order: Sendable { case rank, time, path }

  package struct Request: Sendable {
    package var query: SearchQuery
    /// Empty for the whole tree.
    package var directory: [UInt8] = []
    package var includesHistory = false
    package var isExact = false
    package var order = Order.rank
    /// The most hits, and the most lines of each.
    package var limit = 50
    package var lineCount = 3
    package var pending = SearchPending()
    /// False to answer from the indexed part.
    package var isCaughtUp = true

    package init(_ query: SearchQuery) { self.query = query }
  }

  private struct Found {
    var id: Int64
    var version: VersionNumber?
    var isPending: Bool
  }

  /// Returns the files that have the words.
  /// - Complexity: O(*k* log *k*) for *k* such files, in addition to catching up.
  package func search(_ request: Request) throws(StoreError) -> SearchResult {
    try healing {
      defer { dropPending() }
      var result = SearchResult()
      let number = try store.state().head
      let head = try store.version(number)
      if let head {
        if request.isCaughtUp {
          try catchUp(to: head)
          if request.includesHistory { try catchUpHistory() }
          try retryUnreadable(head)
        } else {
          result.isCurrent = try isCurrent(head)
        }
      }
      try lay(request.pending, below: request.directory)
      let view = TreeView(map: head.map { store.map(of: $0) } ?? store.map(.empty))
      try collect(request, view, &result)
      try describe(view, &result)
      return result
    }
  }

  private func describe(_ view: TreeView, _ result: inout SearchResult) throws {
    if let key = try unreadableKeys(atMost: 1).first {
      result.unreadable = (
        Int(try database.integer("SELECT count(*) FROM tree WHERE content = 0") ?? 0),
        try view.path(of: key)
      )
    }
    result.cut = Int(
      try database.integer(
        "SELECT count(*) FROM tree WHERE content IN (SELECT id FROM content WHERE isCut)") ?? 0)
  }

  private func collect(
    _ request: Request, _ view: TreeView, _ result: inout SearchResult
  ) throws {
    let sql = SearchSQL(request)
    let rows = try database.statement(sql.hits)
    defer { rows.close() }
    bind(rows, sql.parameters)
    var finder = LineFinder(request.query, wanted: request.isExact ? 0 : request.lineCount)
    while try rows.step() {
      guard request.isExact || result.hits.count < request.limit else { break }
      let found = Found(
        id: rows.integer(0),
        version: rows.optionalInteger(1).map { VersionNumber(UInt32(truncatingIfNeeded: $0)) },
        isPending: rows.integer(2) != 0)
      guard
        let (path, text) = try content(of: found, request, view, isCurrent: result.isCurrent)
      else { continue }
      var hit = SearchHit(path: path, version: found.version)
      if request.isExact {
        let met = rows.text(3).split(separator: ",").compactMap { Int($0) }
        guard let text = try text(),
          let lines = finder.exactLines(of: text, request.lineCount, meeting: met)
        else { continue }
        hit.lines = lines
      } else if request.lineCount > 0, let text = try text() {
        finder.add(text, ofHit: result.hits.count)
      }
      result.count += 1
      if result.hits.count < request.limit { result.hits.append(hit) }
    }
    if !request.isExact {
      try finder.choose(from: database) { result.hits[$0].lines.append($1) }
      if result.hits.count == request.limit {
        let count = try database.statement(sql.count)
        defer { count.close() }
        bind(count, sql.parameters)
        result.count = Int(try count.first { $0.integer(0) } ?? 0)
      }
    }
  }

  private func bind(_ rows: Statement, _ parameters: [SearchSQL.Parameter]) {
    for (index, value) in parameters.enumerated() where index < rows.parameterCount {
      switch value {
      case .key(let key): rows.bind(Int32(index + 1), key)
      case .text(let text): rows.bind(Int32(index + 1), text)
      }
    }
  }

  /// Returns a hit's path and its text; nil if the head has another value there.
  private func content(
    of found: Found, _ request: Request, _ view: TreeView, isCurrent: Bool
  ) throws -> (path: [UInt8], text: () throws -> String?)? {
    if found.isPending {
      let file = request.pending.files[Int(found.id)]
      return (file.path, { file.text })
    }
    let row = try database.prepared("SELECT key FROM paths WHERE id = ?").bind(1, found.id)
    guard let key = try row.first({ Key(bytes: $0.bytes(0)) }) else { return nil }
    guard let number = found.version else {
      guard let entry = try view.map.entry(at: key) else { return nil }
      if !isCurrent, try !isIndexed(entry, found.id) { return nil }
      return (try view.path(of: key), { try? self.text(of: entry) })
    }
    guard let record = try store.version(number) else { return nil }
    let old = TreeView(map: store.map(of: record))
    guard let entry = try old.map.entry(at: key) else { return nil }
    return (try old.path(of: key), { try? self.text(of: entry) })
  }

  private func isIndexed(_ entry: Entry, _ path: Int64) throws -> Bool {
    try database.prepared(
      "SELECT digest FROM tree JOIN content ON content.id = tree.content WHERE path = ?"
    ).bind(1, path).first { $0.bytes(0) } == entry.stored.digest.bytes
  }

  private func lay(_ pending: SearchPending, below directory: [UInt8]) throws {
    try database.execute("CREATE TEMP TABLE IF NOT EXISTS hidden (path INTEGER PRIMARY KEY)")
    guard !pending.isEmpty else { return }
    try database.execute(
      """
      SAVEPOINT pending;
      CREATE TEMP TABLE pending (id INTEGER PRIMARY KEY, path BLOB NOT NULL, time INTEGER NOT NULL);
      CREATE VIRTUAL TABLE temp.pending_words USING
        fts5(text, content = '', tokenize = 'porter unicode61');
      CREATE VIRTUAL TABLE temp.pending_names USING
        fts5(text, content = '', tokenize = 'porter unicode61');
      RELEASE pending
      """)
    for path in pending.gone {
      let below = KeyRange.below(path)
      let hide = try database.prepared(
        """
        INSERT OR IGNORE INTO temp.hidden SELECT id FROM paths
          WHERE key = ? OR key >= ? AND key < ? OR key >= ? AND key < ?
        """
      ).bind(1, KeyCoding.key(ofPath: path).bytes)
      for (index, key) in below.enumerated() { hide.bind(Int32(index + 2), key) }
      try hide.run()
    }
    let start = directory.isEmpty ? [] : directory + [0x2F]
    for (id, file) in pending.files.enumerated()
    where start.isEmpty || file.path == directory || file.path.starts(with: start) {
      try database.prepared("INSERT INTO temp.pending VALUES (?, ?, ?)")
        .bind(1, Int64(id)).bind(2, file.path).bind(3, file.time).run()
      try database.prepared("INSERT INTO temp.pending_names (rowid, text) VALUES (?, ?)")
        .bind(1, Int64(id)).bind(2, SearchText.ofPath(file.path)).run()
      guard let text = file.text else { continue }
      try database.prepared("INSERT INTO temp.pending_words (rowid, text) VALUES (?, ?)")
        .bind(1, Int64(id)).bind(2, SearchText.separated(text)).run()
    }
  }

  private func dropPending() {
    // A leftover table is removed with the connection.
    try? database.execute(
      """
      DROP TABLE IF EXISTS temp.hidden; DROP TABLE IF EXISTS temp.pending;
      DROP TABLE IF EXISTS temp.pending_words; DROP TABLE IF EXISTS temp.pending_names
      """)
  }
}

enum KeyRange {
  /// Returns two ranges, of paths and of escaped paths, each as its first key and the key after its last.
  static func below(_ directory: [UInt8]) -> [[UInt8]] {
    let start = directory + [0x2F]
    return [start, KeyCoding.escaped(start)].flatMap { key in
      // The byte after "/" is "0".
      [key, Array(key.dropLast()) + [0x30]]
    }
  }
}
