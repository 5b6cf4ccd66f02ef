/// All changes that one commit makes visible at once; see ``Store/write(_:)``.
/// - Concurrency: used by the thread that runs the body, and only while it runs.
package final class WriteTransaction: ChunkTransaction {
  package let store: Store
  private var nextNumber: UInt32
  private(set) var added: [VersionRecord] = []
  private(set) var changedKeys: [(VersionNumber, [Key])] = []
  private(set) var heads: [HeadLogEntry] = []
  private(set) var settings: [(String, [UInt8]?)] = []
  /// Peers by their names, nil for a removal, in the order of the changes.
  private(set) var peers: [(name: String, peer: Peer?)] = []
  /// The names of hard links that the live tree's map gets.
  var linkedKeys: Set<LinkedKey> = []
  private(set) var bundles: [(hash: Digest, versions: [VersionNumber])] = []
  private(set) var remoteBundles: [RemoteBundleChange] = []
  private(set) var forgetting: Forgetting?
  package private(set) var hasAbsent = false
  private(set) var absent: [VersionNumber] = []
  /// The number of the newest committed version.
  private let base: UInt32
  private var addedByID: [Version.ID: Int] = [:]
  private var names: Set<String> = []
  private(set) var newChunks: [Digest: Location] = [:]
  /// Committed versions that were read, because predecessors are needed several times.
  private var known: [VersionNumber: VersionRecord] = [:]
  private static let mostKnown = 64
  /// Checked before the commit; true ends the transaction with ``StoreError/cancelled``.
  package var isCancelled: () -> Bool = { false }
  private var bases: KnownBases?
  let documentStates = DocumentStateCache()
  /// The version that was committed last; usually the next one is based on it.
  private let latest: VersionRecord?

  init(store: Store, lastNumber: UInt32, latest: VersionRecord?) {
    self.store = store
    self.latest = latest
    base = lastNumber
    nextNumber = lastNumber + 1
  }

  func knownBases() -> KnownBases {
    let all = store.history.bases
    if let bases, !all.isFull(bases.batch) { return bases }
    let fresh = KnownBases(all.current(), committed: VersionNumber(base))
    bases = fresh
    return fresh
  }

  var lastCommitted: VersionNumber { VersionNumber(base) }

  func confirmBases() { bases?.confirm() }
  package var nodes: any NodeStorage { store.records }
  package var nextVersion: VersionNumber { VersionNumber(nextNumber) }

  /// Returns the number of a version that will be added; versions are added in this order.
  package func reserveVersion() throws(StoreError) -> VersionNumber {
    guard nextNumber < .max else { throw .noSpace("version numbers are used up") }
    defer { nextNumber += 1 }
    return VersionNumber(nextNumber)
  }

  /// Returns the first of `count` consecutive revision numbers.
  package func allotRevisions(_ count: UInt64 = 1) throws(StoreError) -> UInt64 {
    try store.counters.allot(.revision, count)
  }

  package func version(_ number: VersionNumber?) throws(StoreError) -> VersionRecord? {
    guard let number else { return nil }
    if number.rawValue > base {
      let index = Int(number.rawValue - base) - 1
      return index < added.count ? added[index] : nil
    }
    if let latest, latest.number == number { return latest }
    if let known = known[number] { return known }
    return remember(
      try store.catalog.lookUp { (database) throws(StoreError) in try database.version(number) })
  }

  private func remember(_ record: VersionRecord?) -> VersionRecord? {
    guard let record else { return nil }
    if known.count >= Self.mostKnown { known = [:] }
    known[record.number] = record
    return record
  }

  package func version(_ id: Version.ID) throws(StoreError) -> VersionRecord? {
    if let index = addedByID[id] { return added[index] }
    if let latest, latest.id == id { return latest }
    return remember(
      try store.catalog.lookUp { (database) throws(StoreError) in try database.version(id) })
  }

  /// Adds a version, which becomes visible when the transaction commits, with its generation and name.
  @discardableResult
  package func add(_ version: NewVersion) throws(StoreError) -> VersionRecord {
    let expected = base + UInt32(added.count) + 1
    guard version.number.rawValue == expected, version.number.rawValue < nextNumber else {
      throw .invalid("version numbers are added in the order they were reserved")
    }
    guard try self.version(version.id) == nil else {
      throw .attemptToAddExistingVersion(version.id)
    }
    guard version.timestamp.magnitude < 0x1p33 else {
      throw .invalid("the timestamp \(version.timestamp) is out of range")
    }
    var generation: UInt32 = 0
    var inherited: VersionRecord.Flags = [.isVoid, .hasEmptyRoots]
    var names: [String] = []
    var documents: VersionRecord.Flags = version.metadata[.document] == nil ? [] : .knowsDocuments
    // A version that knows a document is not void, even if the document has no values.
    if version.map.count > 0 || !documents.isEmpty { inherited.remove(.isVoid) }
    if version.first == nil && version.map.count > 0 { inherited.remove(.hasEmptyRoots) }
    for number in [version.first, version.second].compactMap({ $0 }) {
      guard let predecessor = try self.version(number) else {
        throw .attemptToAddVersionWithNonexistingPredecessors(version.id)
      }
      generation = max(generation, predecessor.generation)
      names.append(predecessor.name)
      inherited.formIntersection(predecessor.flags)
      documents.formUnion(predecessor.flags.intersection(.knowsDocuments))
    }
    let record = VersionRecord(
      number: version.number, id: version.id, name: try name(for: version, after: names),
      first: version.first,
      second: version.second, timestamp: version.timestamp, generation: generation + 1,
      line: version.line, flags: version.flags.union(inherited).union(documents),
      map: version.map,
      valueDataSize: version.valueDataSize, storedAt: Store.now(),
      packedMetadata: try store.contents.pack(version.metadata, in: self),
      changes: version.changes)
    addedByID[record.id] = added.count
    self.names.insert(record.name)
    added.append(record)
    changedKeys.append(
      (version.number, version.changedKeys + Version.namedKeys(version.metadata)))
    return record
  }

  private func name(
    for version: NewVersion, after predecessors: [String]
  ) throws(StoreError) -> String {
    let candidates = VersionName.candidates(
      timestamp: version.timestamp, after: predecessors, id: version.id, number: version.number)
    for name in candidates where !names.contains(name) {
      let taken = try store.catalog.lookUp { (database) throws(StoreError) in
        try database.version(named: name)
      }
      if taken == nil { return name }
    }
    throw .exists("every name for version \(version.id.rawValue) is taken")
  }

  /// Makes a version the head of the live tree, and logs the reason.
  package func setHead(
    _ version: VersionNumber?, map: MapRoot?, reason: HeadReason
  ) throws(StoreError) {
    if let version, try self.version(version) == nil {
      throw .notFound("version number \(version.rawValue)")
    }
    heads.append(
      HeadLogEntry(sequence: 0, time: Store.now(), version: version, map: map, reason: reason))
  }

  /// Changes a setting; nil removes it.
  package func set(_ name: String, to value: [UInt8]?) { settings.append((name, value)) }
  package func setPeer(_ peer: Peer) { peers.append((peer.name, peer)) }
  package func removePeer(_ name: String) { peers.append((name, nil)) }

  /// Records the versions in a bundle, so that it is not read again.
  package func note(bundle hash: Digest, versions: [VersionNumber]) {
    bundles.append((hash, versions))
  }

  package func note(_ change: RemoteBundleChange) { remoteBundles.append(change) }
  func forget(_ forgetting: Forgetting) { self.forgetting = forgetting }

  /// Returns a value whose bytes the store does not get, longer than those that are kept in maps.
  package func absentValue(_ digest: Digest, length: UInt64) -> StoredContent {
    hasAbsent = true
    return StoredContent(length: length, digest: digest, content: .none)
  }

  /// Notes a new version that the store got without some of its bytes.
  package func add(absent number: VersionNumber) { absent.append(number) }

  var namesNothing: Bool {
    added.isEmpty && heads.isEmpty && settings.isEmpty && peers.isEmpty
      && bundles.isEmpty && linkedKeys.isEmpty && remoteBundles.isEmpty && forgetting == nil
  }

  /// Stores a value; `prior` is the one that was at the key before.
  package func write(
    _ value: ReadyValue, after prior: StoredContent? = nil
  ) throws(StoreError) -> StoredContent {
    try store.contents.write(value, after: prior, in: self)
  }

  /// Stores a value's bytes in bounded memory; `prior` is the value that was at the key before.
  package func write(
    _ source: some ContentSource, after prior: StoredContent? = nil
  ) throws(StoreError) -> StoredContent {
    try store.contents.write(source, after: prior, in: self)
  }

  package func write(
    _ bytes: [UInt8], after prior: StoredContent? = nil
  ) throws(StoreError) -> StoredContent { try write(BytesSource(bytes), after: prior) }

  package func newChunk(_ digest: Digest) -> Location? { newChunks[digest] }

  package func remember(chunk digest: Digest, at location: Location) {
    newChunks[digest] = location
  }

  /// Adds versions that each write a value at keys of documents: the first has each key's first value, and so on.
  /// Values are written even if unchanged; nil is a removal.
  package func addValues(
    _ keys: [(key: Key, values: [Entry?])], on head: VersionNumber, line: Branch?
  ) throws(StoreError) -> [VersionNumber] {
    let count = keys.map(\.values.count).max() ?? 0
    guard let record = try version(head) else {
      throw .corrupt("there is no version number \(head.rawValue)")
    }
    let before = store.map(of: record)
    var made: [VersionNumber] = []
    for index in 0..<count {
      let number = try reserveVersion()
      let written = keys.filter { $0.values.count > index }
      var edits: [MapEdit] = []
      for (key, values) in written {
        let old = try before.entry(at: key)
        guard var new = values[index] else {
          if old != nil { edits.append(.remove(key, directory: false)) }
          continue
        }
        if Entry.isSameValue(old, new) { continue }
        new.storedVersion = number
        new.revision = try allotRevisions()
        edits.append(.put(new))
      }
      let draft = AuthoredVersion(
        number: number, first: head, base: before, map: try before.applying(edits: edits),
        line: line, message: nil,
        metadata: [.settled: Version.MetadataValue(keys: written.map(\.key))])
      made.append(try add(draft).number)
    }
    return made
  }
}
