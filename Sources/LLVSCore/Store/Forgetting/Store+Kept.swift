/// Look-ups that pass over forgotten versions.
extension Store {
  /// Returns what decided that a version is forgotten; nil if it is kept, or the decision is unknown.
  package func decision(forgetting number: VersionNumber) throws(StoreError) -> ForgettingDecision?
  {
    try catalog.read { (database) throws(StoreError) in
      try database.decision(forgetting: number)
    }
  }

  package func isForgotten(_ number: VersionNumber) throws(StoreError) -> Bool {
    try forgottenVersions().contains(number)
  }

  /// Returns the next kept versions from the newest to older ones, as ``versionsNewestFirst(before:limit:)`` does.
  /// - Complexity: O(*n* + forgotten versions between them).
  package func keptVersionsNewestFirst(
    before last: VersionRecord?, limit: Int
  ) throws(StoreError) -> [VersionRecord] {
    let forgotten = try forgottenVersions()
    var (kept, last) = ([VersionRecord](), last)
    while kept.count < limit {
      let page = try versionsNewestFirst(
        before: last, limit: forgotten.isEmpty ? limit : max(limit, 256))
      kept += page.filter { !forgotten.contains($0.number) }
      guard let end = page.last, !forgotten.isEmpty else { break }
      last = end
    }
    return Array(kept.prefix(limit))
  }

  /// Returns the versions that changed the value and whose state of it a kept version has, oldest first.
  /// - Complexity: O(changes + forgotten versions).
  package func keptVersions(changing key: Key) throws(StoreError) -> [VersionRecord] {
    let changing = try versions(changing: key)
    let forgotten = try forgottenVersions()
    guard !forgotten.isEmpty else { return changing }
    let numbers = Set(changing.map(\.number))
    var kept: [VersionRecord] = []
    for record in changing {
      if forgotten.contains(record.number),
        try !hasKeptCopy(of: key, asIn: record, changing: numbers, forgotten)
      {
        continue
      }
      kept.append(record)
    }
    return kept
  }

  /// True if a descendant of a forgotten version is kept, with the same revision of a value.
  private func hasKeptCopy(
    of key: Key, asIn maker: VersionRecord, changing: Set<VersionNumber>, _ forgotten: NumberSet
  ) throws(StoreError) -> Bool {
    let revision = try map(of: maker).entry(at: key)?.revision
    var open = try successors(of: maker.number)
    var seen = Set(open)
    while let next = open.popLast() {
      guard !changing.contains(next), let record = try version(next),
        try map(of: record).entry(at: key)?.revision == revision
      else { continue }
      guard forgotten.contains(next) else { return true }
      for number in try successors(of: next) where seen.insert(number).inserted {
        open.append(number)
      }
    }
    return false
  }

  /// True if none of a value's bytes is forgotten or absent, so that a new version may refer to it.
  package func hasBytes(of stored: StoredContent) throws(StoreError) -> Bool {
    if stored.isAbsent { return false }
    switch stored.content {
    case .none, .inline: return true
    case .chunk(let place): return try isHere(place)
    case .tree(let place): return try hasBytes(below: place)
    }
  }

  /// True if all bytes of a value can be read. Forgotten ones can be as long as they are on the disk.
  /// - Complexity: O(bytes) for a value with forgotten bytes.
  package func canRead(_ stored: StoredContent) throws(StoreError) -> Bool {
    if try hasBytes(of: stored) { return true }
    do throws(StoreError) {
      try contents.forEachPart(of: stored) { (part) throws(StoreError) in _ = try part.bytes() }
      return true
    } catch {
      guard error.isForgotten else { throw error }
      return false
    }
  }

  private func isHere(_ place: Location) throws(StoreError) -> Bool {
    guard let gone = records.gone else { return true }
    return try !gone.containsLately(place)
  }

  private func hasBytes(below place: Location) throws(StoreError) -> Bool {
    guard try isHere(place) else { return false }
    for item in try contents.node(place).items {
      guard let place = item.location else { continue }
      guard try item.kind == .chunk ? isHere(place) : hasBytes(below: place) else { return false }
    }
    return true
  }

  /// Returns a key at which a version differs from a map and whose bytes are forgotten or absent; nil if the store has
  /// all bytes.
  /// - Complexity: O(differences), and O(1) for a store that forgot nothing.
  package func firstWithoutBytes(
    in record: VersionRecord, unlike base: ValueMap
  ) throws(StoreError) -> Key? {
    guard try mayLackBytes() else { return nil }
    var diff = try MapDiff(from: base, to: map(of: record), comparing: .content)
    while let change = try diff.next() {
      guard let entry = change.new else { continue }
      if try !hasBytes(of: entry.stored) { return entry.key }
    }
    return nil
  }

  /// True once the store has forgotten bytes, or got a version without them.
  private func mayLackBytes() throws(StoreError) -> Bool {
    try catalog.read { (database) throws(StoreError) in
      try database.integer("PRAGMA user_version") == Catalog.forgettingVersion
    }
  }
}
