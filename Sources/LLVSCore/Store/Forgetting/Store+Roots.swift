/// What is needed outside of the store's own tables, such as the bases of files with pending changes.
package struct OutsideRoots: Sendable {
  package var versions: Set<VersionNumber>
  package var contents: [StoredContent]

  package init(versions: Set<VersionNumber> = [], contents: [StoredContent] = []) {
    self.versions = versions
    self.contents = contents
  }
}

/// The kinds of what a store never forgets. Each has a case in ``Store/add(_:to:_:)``.
package enum RootKind: CaseIterable, Sendable {
  /// What the policy keeps.
  case policy
  /// The versions without a successor on their line, and the live tree's.
  case heads
  case tags
  /// The bases of the merge of each pair of heads, and of their bases.
  case mergeBases
  /// Both sides and the base of each conflict that is open at a head, or at a version that `undo` may return to.
  case conflicts
  /// The last version of each writer, since its line continues from there.
  case writers
  /// The live tree's heads since the time from that everything is kept: `undo` may return to them.
  case headLog
  /// The values of documents that no later write replaced.
  case documents
  /// Metadata and change lists of all versions.
  case metadata
  /// What the caller needs.
  case outside
}

/// Roots of one instant.
struct Roots {
  var versions: Set<VersionNumber> = []
  var maps: [MapRoot] = []
  var contents: [StoredContent] = []
  /// The heads that merges, conflicts and documents are looked for at.
  fileprivate var heads: [VersionNumber] = []
  /// The versions that `undo` may return to.
  fileprivate var former: [VersionNumber] = []
  fileprivate var rows = RootRows()

  init() {}

  init(_ outside: OutsideRoots) {
    versions = outside.versions
    contents = outside.contents
  }
}

/// What follows from the rows of all versions.
private struct RootRows {
  var kept: Set<VersionNumber> = []
  var lastOfWriters: [[UInt8]: VersionNumber] = [:]
  var values: [StoredContent] = []
}

extension Store {
  /// Returns what a policy and everything else keeps, at a time in nanoseconds since 1970.
  ///
  /// `last` leaves out what follows from the rows of the versions up to it. They keep no more than before, because
  /// a newer version can only take their place.
  func roots(
    _ policy: KeepPolicy, at now: Int64, _ kinds: [RootKind] = RootKind.allCases,
    after last: UInt32 = 0, outside: OutsideRoots
  ) throws(StoreError) -> Roots {
    var roots = Roots()
    let seconds = Double(now) / 1e9
    roots.rows = try rootRows(policy, at: seconds, after: last)
    try addHeads(since: policy.begin(at: seconds), to: &roots)
    for kind in kinds { try add(kind, to: &roots, outside) }
    return roots
  }

  private func add(
    _ kind: RootKind, to roots: inout Roots, _ outside: OutsideRoots
  ) throws(StoreError) {
    switch kind {
    case .policy: roots.versions.formUnion(roots.rows.kept)
    case .heads: roots.versions.formUnion(roots.heads)
    case .tags: try addTags(to: &roots)
    case .mergeBases: roots.versions.formUnion(try bases(ofPairs: roots.heads))
    case .conflicts:
      for head in Set(roots.heads + roots.former).sorted() {
        try addConflicts(at: head, to: &roots)
      }
    case .writers: roots.versions.formUnion(roots.rows.lastOfWriters.values)
    case .headLog: roots.versions.formUnion(roots.former)
    case .documents:
      for head in roots.heads { try addDocuments(at: head, to: &roots) }
    case .metadata: roots.contents += roots.rows.values
    case .outside:
      roots.versions.formUnion(outside.versions)
      roots.contents += outside.contents
    }
  }

  private func rootRows(
    _ policy: KeepPolicy, at now: Double, after last: UInt32
  ) throws(StoreError) -> RootRows {
    var rows = RootRows()
    var choice = KeepPolicy.Choice(policy, at: now)
    try catalog.read { (database) throws(StoreError) in
      try database.prepared(
        """
        SELECT number, id, bits, line, stored_at, metadata, changes FROM versions WHERE number > ?
          ORDER BY number
        """
      ).bind(1, Int64(last)).forEach { (row) throws(StoreError) in
        let number = row.number(0)
        let packed = row.bytes(5)
        for bytes in [packed.first == 1 ? Array(packed.dropFirst()) : nil, row.optionalBytes(6)] {
          guard let bytes else { continue }
          guard let stored = bytes.parsed({ $0.storedContent() }) else {
            throw .corrupt("version number \(number.rawValue) has a value without a readable place")
          }
          if stored.content.isPlaced { rows.values.append(stored) }
        }
        if let writer = try contents.unpack(packed)[.writer]?.data {
          rows.lastOfWriters[writer] = number
        }
        // The times of versions count from 2001-01-01 UTC.
        let time = Double(bitPattern: UInt64(bitPattern: row.integer(2))) + 978_307_200
        choice.add(
          KeepPolicy.Candidate(
            number: number, line: row.text(3), time: time,
            storedAt: Double(row.integer(4)) / 1e9, id: Version.ID(row.text(1))))
        return true
      }
    }
    rows.kept = choice.kept
    return rows
  }

  private func addHeads(since begin: Double, to roots: inout Roots) throws(StoreError) {
    // A line of a rule's own has no heads; its marks are on versions (docs/merging.md, M6).
    let (heads, log) = try catalog.read { (database) throws(StoreError) in
      let heads = try database.prepared(
        "SELECT number FROM line_heads WHERE substr(line, 1, 5) != CAST('llvs.' AS BLOB)"
      ).all { $0.number(0) }
      return (heads, try database.headEntries(since: Int64(max(0, begin) * 1e9)))
    }
    roots.maps += log.compactMap(\.map)
    roots.former = Set(log.compactMap(\.version)).sorted()
    roots.heads = Set(heads + [log.first?.version].compactMap(\.self)).sorted()
  }

  private func addTags(to roots: inout Roots) throws(StoreError) {
    var last: String?
    while true {
      let names = try tags(after: last, limit: 256)
      guard let end = names.last else { return }
      for name in names {
        if let tagged = try version(tagged: name) { roots.versions.insert(tagged.number) }
        if let tag = try tagNumber(name) { roots.versions.insert(tag) }
      }
      last = end
    }
  }

  private func bases(ofPairs heads: [VersionNumber]) throws(StoreError) -> Set<VersionNumber> {
    struct Pair: Hashable {
      let first: VersionNumber
      let second: VersionNumber
    }
    func pairs(_ versions: [VersionNumber]) -> [Pair] {
      versions.indices.flatMap { index in
        versions[..<index].map { Pair(first: $0, second: versions[index]) }
      }
    }
    var (found, known, waiting) = (Set<VersionNumber>(), Set<Pair>(), pairs(heads))
    while let pair = waiting.popLast() {
      guard known.insert(pair).inserted else { continue }
      let bases = try graph.commonAncestors(pair.first, pair.second).map(\.number).sorted()
      found.formUnion(bases)
      // The base of a merge with several bases is made of them.
      waiting += pairs(bases)
    }
    return found
  }

  private func addConflicts(at head: VersionNumber, to roots: inout Roots) throws(StoreError) {
    for drop in try unsettledDrops(at: head).drops {
      let merge = try graph.node(drop.merge)
      let sides = [merge.first, merge.second].compactMap(\.self)
      roots.versions.formUnion([drop.version, drop.merge] + sides)
      roots.versions.formUnion(try bases(ofPairs: sides))
    }
  }

  private func addDocuments(at head: VersionNumber, to roots: inout Roots) throws(StoreError) {
    for directory in try documentDirectories(at: head) {
      var values: [(Key, VersionNumber)] = []
      try documents.state(of: directory, at: head).keys.forEach { key, known in
        values += known.live.compactMap { value in value.holder.map { (key, $0) } }
      }
      for (key, holder) in values {
        guard let entry = try history.valueMap(ofVersion: holder).entry(at: key) else { continue }
        roots.contents.append(entry.stored)
      }
    }
  }
}

extension Content {
  /// True if the bytes are in records.
  fileprivate var isPlaced: Bool {
    switch self {
    case .none, .inline: false
    case .chunk, .tree: true
    }
  }
}

extension StoreDatabase {
  /// Returns the entries of the log of heads since a time, newest first, and always the newest. Damaged entries
  /// without a copy are left out.
  fileprivate func headEntries(since time: Int64) throws(StoreError) -> [HeadLogEntry] {
    var found: [HeadLogEntry] = []
    var before = Int64.max
    while true {
      let some = try headLog(before: before, limit: 256) { _ in }
      for entry in some {
        guard found.isEmpty || entry.time >= time else { return found }
        found.append(entry)
      }
      guard let last = some.last else { return found }
      before = last.sequence
    }
  }
}
