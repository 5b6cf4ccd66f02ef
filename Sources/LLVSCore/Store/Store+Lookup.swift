internal import Platform
internal import Synchronization

extension Store {
  package func version(_ number: VersionNumber?) throws(StoreError) -> VersionRecord? {
    guard let number else { return nil }
    return try catalog.read { (database) throws(StoreError) in try database.version(number) }
  }

  package func version(_ id: Version.ID?) throws(StoreError) -> VersionRecord? {
    guard let id else { return nil }
    return try catalog.read { (database) throws(StoreError) in try database.version(id) }
  }

  /// Returns the version that the live tree continues from; nil before the first one.
  package func headRecord() throws(StoreError) -> VersionRecord? { try version(state().head) }

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

  package func versionLines(after number: UInt32, limit: Int) throws(StoreError) -> [VersionLine] {
    try catalog.read { (database) throws(StoreError) in
      try database.versionLines(after: number, limit: limit)
    }
  }

  package func versionLines(before number: UInt32, limit: Int) throws(StoreError) -> [VersionLine] {
    try catalog.read { (database) throws(StoreError) in
      try database.versionLines(before: number, limit: limit)
    }
  }

  /// Returns the versions that stored the value's bytes or changed its attributes, oldest first.
  package func versions(changing key: Key) throws(StoreError) -> [VersionRecord] {
    var records: [VersionRecord] = []
    for number in try numbers(changing: key, upTo: state().lastNumber) {
      guard let record = try version(number), try changes(record, key) else { continue }
      records.append(record)
    }
    return records
  }

  /// Returns the versions that may have changed a key, ascending, with all that the index lacks: a reader may see a
  /// version before its maker has written the index.
  func numbers(changing key: Key, upTo last: UInt32) throws(StoreError) -> [VersionNumber] {
    // Read first: versions that are indexed concurrently are then examined twice, not missed.
    // A backup has no index.
    let hasIndex = try StoreError.translating(try FileSystem.exists("\(path)/index.sqlite"))
    let known = try hasIndex ? index.lastVersion() : 0
    let numbers =
      try hasIndex ? index.versions(changing: key).filter { $0.rawValue <= last } : []
    guard known < last else { return numbers }
    return numbers.filter { $0.rawValue <= known } + ((known + 1)...last).map { VersionNumber($0) }
  }

  /// Returns true if a version's entry at a key differs from its first predecessor's.
  private func changes(_ record: VersionRecord, _ key: Key) throws(StoreError) -> Bool {
    let new = try map(of: record).entry(at: key)
    guard let first = record.first, let before = try version(first) else { return new != nil }
    let old = try map(of: before).entry(at: key)
    guard let old, let new else { return old != nil || new != nil }
    return old.storedVersion != new.storedVersion || !old.hasSameContent(as: new)
  }

  /// Keeps bytes under a name in the index, which may lose them.
  package func note(_ name: String, _ bytes: [UInt8]) { index.keep(name, bytes) }
  package func noted(_ name: String) -> [UInt8]? { index.kept(name) }

  /// Adds to the index what a crash kept out of it; skips and reports damaged versions.
  func catchUpIndex() throws(StoreError) {
    let last = published.withLock { $0.lastNumber }
    var next = try index.lastVersion() + 1
    while next <= last {
      let number = VersionNumber(next)
      var keys: [Key] = []
      do throws(StoreError) {
        guard let record = try version(number) else { throw .corrupt("it is not in the catalog") }
        keys = try changedKeys(of: record)
      } catch {
        guard error.isDamage else { throw error }
        published.withLock {
          $0.mended.append(
            "version number \(next) is left out of index.sqlite: \(error.message)")
        }
      }
      index.add(chunks: [:], changes: [(number, keys)])
      next += 1
    }
  }

  /// Returns the keys at which a version differs from its first predecessor, and those that it settles.
  func changedKeys(of record: VersionRecord) throws(StoreError) -> [Key] {
    let before = try version(record.first)
    var keys: [Key] = []
    try ValueMap.diff(from: map(of: before), to: map(of: record)) {
      (change) throws(StoreError) in
      if !change.isDirectory { keys.append(change.key) }
    }
    return keys + Version.namedKeys(try metadata(of: record))
  }
}
