@testable import LLVSCore
@testable import StoreSupport

/// Makes bytes of both sides, and says that something of each was dropped.
struct MixingArbiter: ClashArbiter {
  var drops = true

  func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision {
    guard let first = clash.first, let second = clash.second else {
      return .take(clash.first == nil ? .second : .first)
    }
    let bytes = Digest.of(first.stored.digest.bytes + second.stored.digest.bytes).bytes
    return .bytes(bytes, kind: .regular, dropping: drops ? [.first, .second] : [])
  }
}

extension SampleReplica: ConflictSource {
  func metadata(ofVersion number: VersionNumber) throws(StoreError) -> Version.Metadata {
    try record(number).version.metadata
  }

  func versions(
    touching key: Key, upTo last: VersionNumber
  ) throws(StoreError) -> [VersionNumber] {
    records.map(\.node.number).filter { $0 <= last }
  }

  func number(ofVersion id: Version.ID) throws(StoreError) -> VersionNumber? { number(of: id) }

  func keys(touchedBy number: VersionNumber) throws(StoreError) -> [Key] {
    let record = try record(number)
    return record.changes.keys + Version.settledKeys(record.version.metadata)
  }

  func isDatabase(_ content: StoredContent) -> Bool { false }

  var finder: ConflictFinder { ConflictFinder(merger: merger, source: self) }

  /// Merges two versions, as every replica does or, with an id, as somebody else's program did.
  @discardableResult
  func merge(
    _ a: HistoryNode, _ b: HistoryNode, _ arbiter: any ClashArbiter, as id: Version.ID? = nil
  ) throws -> HistoryNode? {
    let (first, second) = a.id < b.id ? (a, b) : (b, a)
    guard case .merge(let bases) = try merger.plan(first, second, allowingUnrelated: true) else {
      return nil
    }
    var options = options()
    options.arbiter = arbiter
    let result = try merger.merge(
      first: first, second: second, bases: bases, options: options, writingTo: nodes)
    var version = Version(automatic: result, branch: nil, extra: result.droppedMetadata)
    if let id {
      version.id = id
      version.timestamp += 0.000_001
    }
    guard number(of: version.id) == nil else { return nil }
    var changes: [Key: Entry?] = [:]
    for change in result.changes {
      switch change {
      case .preserve(let entry), .insert(let entry), .update(let entry):
        changes[entry.key] = .some(entry)
      case .preserveRemoval(let key), .remove(let key): changes[key] = .some(nil)
      }
    }
    return try add(version, map: result.map, changes: changes)
  }

  /// Makes a version that settles keys as they are.
  @discardableResult
  func settle(
    _ keys: [Key], on head: HistoryNode, id: Version.ID, timestamp: Double
  ) throws -> HistoryNode {
    let map = try record(head.number).map
    let version = Version(
      id: id, predecessors: Version.Predecessors(idOfFirst: head.id), timestamp: timestamp,
      metadata: [
        .digest: Version.MetadataValue(map.contentDigest.hex),
        .settled: Version.MetadataValue(keys: keys),
      ])
    return try add(version, map: map, changes: [:])
  }

  /// What is open, in words that mean the same on every replica.
  func described(_ conflicts: [ValueConflict]) -> [String] {
    conflicts.map { conflict in
      let theirs = conflict.theirs.map {
        "\($0.version.id.rawValue)=\($0.entry?.stored.digest.hex ?? "-")"
      }
      return "\(conflict.key.rawValue) base \(conflict.base?.stored.digest.hex ?? "-") "
        + "ours \(conflict.ours?.stored.digest.hex ?? "-") theirs \(theirs)"
    }
  }
}
