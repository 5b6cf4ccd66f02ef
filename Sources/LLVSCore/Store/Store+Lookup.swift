/// Looking versions up.
extension Store {
  package func version(_ number: VersionNumber) throws(StoreError) -> VersionRecord? {
    try catalog.read { (database) throws(StoreError) in
      try catalog.version(number, in: database)
    }
  }

  package func version(_ id: Version.ID) throws(StoreError) -> VersionRecord? {
    try catalog.read { (database) throws(StoreError) in try catalog.version(id, in: database) }
  }

  package func version(named name: String) throws(StoreError) -> VersionRecord? {
    try catalog.read { (database) throws(StoreError) in
      try catalog.version(named: name, in: database)
    }
  }

  /// The version whose name or full id a text is: neither is ever another's.
  package func version(exactly text: String) throws(StoreError) -> VersionRecord? {
    try catalog.read { (database) throws(StoreError) in
      if let named = try catalog.version(named: text, in: database) { return named }
      return try catalog.version(Version.ID(text), in: database)
    }
  }

  /// The version that a name, a full id, a tag or a unique prefix of an id stands for.
  ///
  /// Throws `invalid` when several ids begin so, `notFound` when none does.
  package func resolve(_ text: String) throws(StoreError) -> VersionRecord {
    guard !text.isEmpty else { throw .notFound("a version without a name") }
    if let exact = try version(exactly: text) { return exact }
    if let tagged = try version(tagged: text) { return tagged }
    let found = try catalog.read { (database) throws(StoreError) -> [VersionRecord] in
      var candidates = try catalog.versions(idPrefix: Array(text.utf8), limit: 2, in: database)
      if candidates.isEmpty {
        let upper = Array(text.uppercased().utf8)
        candidates = try catalog.versions(idPrefix: upper, limit: 2, in: database)
      }
      return candidates
    }
    guard let version = found.first else { throw .notFound("version \(text)") }
    guard found.count == 1 else { throw .invalid("several versions begin with \(text)") }
    return version
  }

  /// The next versions in order of name, after a name that need not exist.
  package func versions(afterName name: String?, limit: Int) throws(StoreError) -> [VersionRecord] {
    try catalog.read { (database) throws(StoreError) in
      try catalog.versions(afterName: name, limit: limit, in: database)
    }
  }

  /// The next versions from the newest down, by (timestamp, generation, id).
  package func versionsNewestFirst(
    before last: VersionRecord?, limit: Int
  ) throws(StoreError) -> [VersionRecord] {
    try catalog.read { (database) throws(StoreError) in
      try catalog.versionsNewestFirst(before: last, limit: limit, in: database)
    }
  }

  package func successors(of number: VersionNumber) throws(StoreError) -> [VersionNumber] {
    try catalog.read { (database) throws(StoreError) in
      try catalog.successors(of: number, in: database)
    }
  }

  /// Versions without any successor.
  package func headNumbers() throws(StoreError) -> [VersionNumber] {
    try catalog.read { (database) throws(StoreError) in try catalog.heads(in: database) }
  }

  /// Versions without a successor on their line.
  package func headNumbers(ofLine line: String) throws(StoreError) -> [VersionNumber] {
    try catalog.read { (database) throws(StoreError) in
      try catalog.heads(ofLine: line, in: database)
    }
  }

  package func lines(after line: String?, limit: Int) throws(StoreError) -> [String] {
    try catalog.read { (database) throws(StoreError) in
      try catalog.lines(after: line, limit: limit, in: database)
    }
  }

  /// The newest entries of the log of heads with a smaller sequence number, newest first.
  ///
  /// Entries that are not what was written are passed over, and `tell` hears of each.
  package func headLog(
    before sequence: Int64 = .max, limit: Int, passingOver report: (String) -> Void = { _ in }
  ) throws(StoreError) -> [HeadLogEntry] {
    try catalog.read { (database) throws(StoreError) in
      try catalog.headLog(before: sequence, limit: limit, in: database, passingOver: report)
    }
  }

  /// What the live tree's head was at a time in nanoseconds since 1970; nil before the log begins.
  ///
  /// An entry that is not what was written is passed over: then it is the head before it, and `tell` hears.
  package func head(
    at time: Int64, passingOver report: (String) -> Void = { _ in }
  ) throws(StoreError) -> HeadLogEntry? {
    try catalog.read { (database) throws(StoreError) in
      try catalog.head(at: time, in: database, passingOver: report)
    }
  }

  package func peers() throws(StoreError) -> [Peer] {
    try catalog.read { (database) throws(StoreError) in try catalog.peers(in: database) }
  }

  /// A version's metadata.
  package func metadata(of version: VersionRecord) throws(StoreError) -> Version.Metadata {
    try contents.unpack(version.packedMetadata)
  }

  /// The first of `count` inode numbers in a row; outside a transaction too.
  package func allotInodes(_ count: UInt64 = 1) throws(StoreError) -> UInt64 {
    try counters.allot(.inode, count)
  }

  /// The first of `count` revision numbers in a row; outside a transaction too.
  package func allotRevisions(_ count: UInt64 = 1) throws(StoreError) -> UInt64 {
    try counters.allot(.revision, count)
  }
}
