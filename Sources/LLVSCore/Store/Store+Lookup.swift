extension Store {
  package func version(_ number: VersionNumber) throws(StoreError) -> VersionRecord? {
    try catalog.read { (database) throws(StoreError) in try database.version(number) }
  }

  package func version(_ id: Version.ID) throws(StoreError) -> VersionRecord? {
    try catalog.read { (database) throws(StoreError) in try database.version(id) }
  }

  package func version(named name: String) throws(StoreError) -> VersionRecord? {
    try catalog.read { (database) throws(StoreError) in try database.version(named: name) }
  }

  /// Returns the version with this name or full id; no text is both, of two versions.
  package func version(exactly text: String) throws(StoreError) -> VersionRecord? {
    try catalog.read { (database) throws(StoreError) in
      if let named = try database.version(named: text) { return named }
      return try database.version(Version.ID(text))
    }
  }

  /// Returns the version that a name, a full id, a tag or a unique prefix of an id denotes.
  /// - Throws: ``StoreError/invalid(_:)`` if several ids have the prefix, ``StoreError/notFound(_:)`` if none has.
  package func resolve(_ text: String) throws(StoreError) -> VersionRecord {
    guard !text.isEmpty else { throw .notFound("a version without a name") }
    if let exact = try version(exactly: text) { return exact }
    if let tagged = try version(tagged: text) { return tagged }
    let found = try catalog.read { (database) throws(StoreError) -> [VersionRecord] in
      var candidates = try database.versions(idPrefix: Array(text.utf8), limit: 2)
      if candidates.isEmpty {
        let upper = Array(text.uppercased().utf8)
        candidates = try database.versions(idPrefix: upper, limit: 2)
      }
      return candidates
    }
    guard let version = found.first else { throw .notFound("version \(text)") }
    guard found.count == 1 else { throw .invalid("several versions begin with \(text)") }
    return version
  }

  /// Returns the next versions in the order of names, after a name that need not exist.
  package func versions(afterName name: String?, limit: Int) throws(StoreError) -> [VersionRecord] {
    try catalog.read { (database) throws(StoreError) in
      try database.versions(afterName: name, limit: limit)
    }
  }

  /// Returns the next versions from the newest to older ones, by (timestamp, generation, id).
  package func versionsNewestFirst(
    before last: VersionRecord?, limit: Int
  ) throws(StoreError) -> [VersionRecord] {
    try catalog.read { (database) throws(StoreError) in
      try database.versionsNewestFirst(before: last, limit: limit)
    }
  }

  package func successors(of number: VersionNumber) throws(StoreError) -> [VersionNumber] {
    try catalog.read { (database) throws(StoreError) in try database.successors(of: number) }
  }

  /// Calls the body with each version, newest first, each after all its descendants.
  package func forEachVersion(_ body: (HistoryNode) -> Void) throws(StoreError) {
    var walk = try HistoryWalk(graph, from: headNumbers())
    while let node = try walk.next() { body(node) }
  }

  package func headNumbers() throws(StoreError) -> [VersionNumber] {
    try catalog.read { (database) throws(StoreError) in try database.heads() }
  }

  /// Returns the versions without a successor on their line.
  package func headNumbers(ofLine line: String) throws(StoreError) -> [VersionNumber] {
    try catalog.read { (database) throws(StoreError) in try database.heads(ofLine: line) }
  }

  package func lines(after line: String?, limit: Int) throws(StoreError) -> [String] {
    try catalog.read { (database) throws(StoreError) in
      try database.lines(after: line, limit: limit)
    }
  }

  /// Returns the newest entries of the log of heads with a smaller sequence number, newest first. Omits damaged
  /// entries, and calls `report` with a sentence about each.
  package func headLog(
    before sequence: Int64 = .max, limit: Int, passingOver report: (String) -> Void = { _ in }
  ) throws(StoreError) -> [HeadLogEntry] {
    try catalog.read { (database) throws(StoreError) in
      try database.headLog(before: sequence, limit: limit, passingOver: report)
    }
  }

  /// Returns the live tree's head at a time in nanoseconds since 1970; nil before the log begins. A damaged entry
  /// is skipped: the result is then the head before it, and `report` is called with a sentence.
  package func head(
    at time: Int64, passingOver report: (String) -> Void = { _ in }
  ) throws(StoreError) -> HeadLogEntry? {
    try catalog.read { (database) throws(StoreError) in
      try database.head(at: time, passingOver: report)
    }
  }

  package func peers() throws(StoreError) -> [Peer] {
    try catalog.read { (database) throws(StoreError) in try database.peers() }
  }

  package func metadata(of version: VersionRecord) throws(StoreError) -> Version.Metadata {
    try contents.unpack(version.packedMetadata)
  }

  /// The first inode number of a store.
  package static var firstInode: UInt64 { 16 }

  /// The end of a store's inode numbers: history has the numbers from here on.
  package static var inodeLimit: UInt64 { 1 << 40 }
  package var nextInode: UInt64 { counters.next(.inode) }

  /// Makes `next` the next inode number. The caller knows that no inode has it or a later one.
  package func restartInodes(at next: UInt64) throws(StoreError) {
    try counters.restart(.inode, at: next)
  }

  /// Returns the first of `count` consecutive inode numbers, in or outside of a transaction.
  package func allotInodes(_ count: UInt64 = 1) throws(StoreError) -> UInt64 {
    try counters.allot(.inode, count)
  }
}
