import Synchronization

@testable import LLVSCore
@testable import StoreSupport

/// A replica in memory: versions with their maps, merged and exchanged as a store does.
final class SampleReplica: HistorySource, VersionMaps {
  struct Record {
    var version: Version
    var node: HistoryNode
    var map: ValueMap
    /// The change list: what the version's bytes differ in from its first predecessor's.
    var changes: [Key: Entry?]
  }

  struct State {
    var records: [Record] = []
    var numbers: [Version.ID: VersionNumber] = [:]
    var revision: UInt64 = 0
  }

  var documents: DocumentStates? { nil }

  func knownBases(over storage: any NodeStorage) -> KnownBases {
    KnownBases(VirtualBases(over: storage).current())
  }

  let nodes = MemoryNodes()
  let cache = NodeCache(budget: 1 << 22)
  private let state = Mutex(State())

  var records: [Record] { state.withLock { $0.records } }

  func number(of id: Version.ID) -> VersionNumber? { state.withLock { $0.numbers[id] } }

  func record(_ number: VersionNumber) throws(StoreError) -> Record {
    let all = records
    guard number.rawValue > 0, Int(number.rawValue) <= all.count else {
      throw .corrupt("no version number \(number.rawValue)")
    }
    return all[Int(number.rawValue) - 1]
  }

  func allotRevision() -> UInt64 {
    state.withLock {
      $0.revision += 1
      return $0.revision
    }
  }

  var graph: VersionGraph { VersionGraph(source: self) }
  var merger: Merger { Merger(graph: graph, maps: self) }
  var nextNumber: VersionNumber { VersionNumber(UInt32(records.count + 1)) }

  func historyNode(_ number: VersionNumber) throws(StoreError) -> HistoryNode {
    try record(number).node
  }

  func valueMap(ofVersion number: VersionNumber) throws(StoreError) -> ValueMap {
    try record(number).map
  }

  func historyHeads() throws(StoreError) -> [VersionNumber] {
    let all = records.map(\.node)
    let inner = Set(all.flatMap { [$0.first, $0.second].compactMap(\.self) })
    return all.map(\.number).filter { !inner.contains($0) }
  }

  func historyHeads(ofLine line: Branch?) throws(StoreError) -> [VersionNumber] {
    try historyHeads()
  }

  @discardableResult
  func add(_ version: Version, map: ValueMap, changes: [Key: Entry?]) throws -> HistoryNode {
    let number = nextNumber
    var predecessors: [HistoryNode] = []
    for id in version.predecessors?.ids ?? [] {
      guard let known = self.number(of: id) else { throw StoreError.missingVersion(id) }
      predecessors.append(try record(known).node)
    }
    let node = HistoryNode(
      number: number, id: version.id, predecessors: predecessors, timestamp: version.timestamp,
      line: version.line, isAutomatic: version.isAutomatic(contentDigest: map.contentDigest),
      mapIsEmpty: map.count == 0)
    state.withLock { state in
      state.records.append(Record(version: version, node: node, map: map, changes: changes))
      state.numbers[version.id] = number
    }
    return node
  }

  /// Makes an authored version.
  @discardableResult
  func author(
    on head: HistoryNode?, id: Version.ID, timestamp: Double, edits: [MapEdit]
  ) throws -> HistoryNode {
    let base = try head.map { try record($0.number).map } ?? ValueMap(emptyIn: nodes, cache: cache)
    let map = try base.applying(edits: edits.sorted(by: MapEdit.precedes))
    var changes: [Key: Entry?] = [:]
    try ValueMap.diff(from: base, to: map) { change throws(StoreError) in
      if !change.isDirectory { changes[change.key] = .some(change.new) }
    }
    let version = Version(
      id: id, predecessors: head.map { Version.Predecessors(idOfFirst: $0.id) },
      timestamp: timestamp, metadata: [.digest: Version.MetadataValue(map.contentDigest.hex)])
    return try add(version, map: map, changes: changes)
  }

  /// Merges heads as long as there is something to merge; returns how many merges it made.
  func mergeHeads() throws -> Int {
    var made = 0
    var heads = try graph.uncontainedHeads(ofLine: nil)
    while heads.count > 1 {
      let (first, second) =
        heads[0].id < heads[1].id ? (heads[0], heads[1]) : (heads[1], heads[0])
      guard case .merge(let bases) = try merger.plan(first, second, allowingUnrelated: true) else {
        throw StoreError.invalid("heads of which one contains the other are merged")
      }
      let result = try merger.merge(
        first: first, second: second, bases: bases, options: options(), writingTo: nodes)
      let branch = try record(first.number).version.metadata[.branch]
      let version = Version(automatic: result, branch: branch)
      guard number(of: version.id) == nil else {
        throw StoreError.attemptToAddExistingVersion(version.id)
      }
      var changes: [Key: Entry?] = [:]
      for change in result.changes {
        switch change {
        case .preserve(let entry), .insert(let entry), .update(let entry):
          changes[entry.key] = .some(entry)
        case .preserveRemoval(let key), .remove(let key): changes[key] = .some(nil)
        }
      }
      let node = try add(version, map: result.map, changes: changes)
      // What a merge dropped can be told from the store, whoever made it.
      guard try merger.drops(of: node) == result.dropped else {
        throw StoreError.invalid("what \(version.id.rawValue) dropped is told otherwise")
      }
      heads = try graph.uncontained(heads, merging: first, second, into: node)
      guard try heads == graph.uncontainedHeads(ofLine: nil) else {
        throw StoreError.invalid("the heads after \(version.id.rawValue) are told otherwise")
      }
      made += 1
    }
    return made
  }

  func options() -> Merger.Options {
    Merger.Options(
      arbiter: MostRecentChangeClashArbiter(graph: graph), number: nextNumber,
      allotRevision: { () throws(StoreError) in self.allotRevision() },
      write: { (bytes) throws(StoreError) in
        StoredContent(
          length: UInt64(bytes.count), digest: Digest.of(bytes), content: .inline(bytes))
      })
  }

  /// Takes every version of another replica that is not here.
  func retrieve(from other: SampleReplica) throws {
    for record in other.records where number(of: record.version.id) == nil {
      func translated(_ entry: Entry) throws -> Entry {
        var mine = entry
        let storing = try other.record(entry.storedVersion).version.id
        mine.storedVersion =
          storing == record.version.id ? nextNumber : number(of: storing) ?? nextNumber
        mine.revision = allotRevision()
        return mine
      }
      let ids = record.version.predecessors?.ids ?? []
      let known = try ids.map { id in
        guard let number = number(of: id) else { throw StoreError.missingVersion(id) }
        return try self.record(number).node
      }
      let map: ValueMap
      if known.count == 2 {
        var recorded: [Key: RecordedMergeChange] = [:]
        for (key, entry) in record.changes {
          guard let entry else {
            recorded[key] = .removal
            continue
          }
          let mine = try translated(entry)
          recorded[key] = .value(mine.stored, kind: nil, storedBy: mine.storedVersion)
        }
        map = try merger.follow(
          recorded, first: known[0], second: known[1], options: options(), writingTo: nodes
        ).map
      } else {
        let base =
          try known.first.map { try self.record($0.number).map }
          ?? ValueMap(emptyIn: nodes, cache: cache)
        let theirs =
          try known.first.map { try other.record(other.number(of: $0.id) ?? $0.number).map }
          ?? ValueMap(emptyIn: other.nodes, cache: other.cache)
        var edits: [MapEdit] = []
        var diff = try MapDiff(from: theirs, to: record.map)
        while let change = try diff.next() {
          if let new = change.new {
            edits.append(.put(try translated(new)))
          } else {
            edits.append(.remove(change.key, directory: change.isDirectory))
          }
        }
        map = try base.applying(edits: edits)
      }
      let digest: String? = record.version.metadata[.digest]?.value()
      guard digest == map.contentDigest.hex else {
        throw StoreError.corrupt("\(record.version.id.rawValue) has another digest here")
      }
      try add(
        record.version, map: map,
        changes: try record.changes.mapValues { try $0.map(translated) })
    }
  }
}
