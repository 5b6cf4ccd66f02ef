extension Store: ConflictSource {
  package func metadata(ofVersion number: VersionNumber) throws(StoreError) -> Version.Metadata {
    try metadata(of: try history.record(number))
  }

  package func number(ofVersion id: Version.ID) throws(StoreError) -> VersionNumber? {
    try version(id)?.number
  }

  package func versions(
    touching key: Key, upTo last: VersionNumber
  ) throws(StoreError) -> [VersionNumber] { try numbers(changing: key, upTo: last.rawValue) }

  package func keys(touchedBy number: VersionNumber) throws(StoreError) -> [Key] {
    try changedKeys(of: try history.record(number))
  }

  package func isDatabase(_ content: StoredContent) throws(StoreError) -> Bool {
    let header = Array("SQLite format 3\0".utf8)
    var bytes = [UInt8](repeating: 0, count: header.count)
    let count = try bytes.withUnsafeMutableBytes { raw in
      Result { () throws(StoreError) in try contents.read(content, at: 0, into: raw) }
    }.get()
    return count == header.count && bytes == header
  }

  private var finder: ConflictFinder {
    ConflictFinder(merger: Merger(graph: graph, maps: history), source: self)
  }

  /// Returns the version that made an entry's bytes; of bytes that merges made of both sides, the newer side's.
  package func maker(of entry: Entry) throws(StoreError) -> HistoryNode {
    try finder.maker(of: entry)
  }

  /// Returns the conflicts that are open at a head (docs/merging.md, M12), in ascending order of keys: the same on
  /// every replica that has the head. Reads only the contents of the wanted keys.
  /// - Complexity: O(versions since the head of the last call, and open conflicts).
  package func openConflicts(
    at head: VersionNumber, where isWanted: (Key) -> Bool = { _ in true }
  ) throws(StoreError) -> [ValueConflict] {
    let directories = try documentDirectories(at: head)
    let conflicts = try finder.conflicts(try unsettledDrops(at: head)) { key in
      isWanted(key) && !directories.contains { $0.contains(key) }
    }
    guard !directories.isEmpty else { return conflicts }
    let more = try documentConflicts(at: head, in: directories, where: isWanted)
    return (conflicts + more).sorted { $0.key < $1.key }
  }

  /// The conflicts open at one head and settled at another, in the form in which a version made on the other
  /// reopens them: drops of merges that the first descends from.
  /// - Complexity: as ``openConflicts(at:where:)`` of both.
  package func settledDrops(
    at head: VersionNumber, since other: VersionNumber
  ) throws(StoreError) -> [ReopenedDrop] {
    struct Revision: Hashable {
      let key: Key
      let version: VersionNumber
    }
    let open = Set(
      try unsettledDrops(at: head).drops.map { Revision(key: $0.key, version: $0.version) })
    var settled: [ReopenedDrop] = []
    for drop in try unsettledDrops(at: other).drops
    where !open.contains(Revision(key: drop.key, version: drop.version)) {
      guard try graph.isAncestorOrSelf(drop.merge, of: head) else { continue }
      settled.append(
        ReopenedDrop(
          key: drop.key, version: try graph.node(drop.version).id,
          merge: try graph.node(drop.merge).id))
    }
    return settled
  }

  /// The keys of the conflicts of ``openConflicts(at:where:)``, ascending.
  package func openConflictKeys(at head: VersionNumber) throws(StoreError) -> [Key] {
    let directories = try documentDirectories(at: head)
    let keys = try finder.keys(try unsettledDrops(at: head))
    guard !directories.isEmpty else { return keys }
    return
      (keys.filter { key in !directories.contains { $0.contains(key) } }
      + (try documentConflicts(at: head, in: directories)).map(\.key)).sorted()
  }

  func unsettledDrops(at head: VersionNumber) throws(StoreError) -> KnownDrops {
    if conflictCache.beginReading(), let stored = index.conflicts(),
      let known = KnownDrops(encoded: stored.drops), let record = try version(known.head),
      record.id == stored.head
    {
      conflictCache.insert(known)
    }
    var ancestor: KnownDrops?
    for known in conflictCache.candidates(upTo: head) where ancestor == nil {
      if known.head == head { return known }
      if try graph.isAncestorOrSelf(known.head, of: head) { ancestor = known }
    }
    let known = try finder.unsettledDrops(at: head, knowing: ancestor)
    conflictCache.insert(known)
    index.keep(conflicts: known.encoded, of: try history.record(head).id)
    return known
  }
}
