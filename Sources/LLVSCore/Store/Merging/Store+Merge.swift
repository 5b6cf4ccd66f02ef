extension Store {
  /// Returns the merge of two versions for an arbiter, or the version that needs no merge.
  package func planMerge(
    of firstId: Version.ID, with secondId: Version.ID, metadata: Version.Metadata,
    isUnrelatedAllowed: Bool
  ) throws(StoreError) -> MergeOrVersion {
    if let fault = Version.fault(ofGiven: metadata) { throw StoreError.invalid(fault) }
    guard let first = try version(firstId) else { throw StoreError.missingVersion(firstId) }
    guard let second = try version(secondId) else { throw StoreError.missingVersion(secondId) }
    let (a, b) = (HistoryNode(first), HistoryNode(second))
    let merger = Merger(graph: graph, maps: history)
    let plan = try merger.plan(a, b, allowingUnrelated: isUnrelatedAllowed)
    guard case .merge(let bases) = plan else {
      return .fastForward(try version(from: plan == .fastForward(a) ? first : second))
    }
    let base = try merger.baseMap(bases.map(\.number), of: a.number, b.number)
    let triples = try triples(base: base, first: map(of: first), second: map(of: second))
    let ancestor = try bases.last.map { (base) throws(StoreError) in
      try version(from: history.record(base.number))
    }
    return .merge(
      PlannedMerge(
        commonAncestor: ancestor,
        versions: (try version(from: first), try version(from: second)),
        first: a, second: b, triples: triples))
  }

  /// Makes the version of a planned merge and an arbiter's changes. The plan may come from another object of the
  /// same store.
  /// - Throws: ``StoreError/unresolvedConflict(_:)`` if a conflicting value has no change.
  package func make(
    _ planned: PlannedMerge, by changes: [Value.Change], _ metadata: Version.Metadata
  ) throws(StoreError) -> Version {
    var resolved: [Key: Value.Change] = [:]
    for change in changes { resolved[change.key] = change }
    let record = try write { (transaction) throws(StoreError) in
      try transaction.merge(
        planned.first, planned.second, planned.triples, resolved, metadata)
    }
    return try version(from: record)
  }

  private func triples(
    base: ValueMap, first: ValueMap, second: ValueMap
  ) throws(StoreError) -> [Key: MergeTriple] {
    var triples: [Key: MergeTriple] = [:]
    try ValueMap.diff(from: base, to: first) { (change) throws(StoreError) in
      guard !change.isDirectory else { return }
      triples[change.key] = MergeTriple(base: change.old, first: change.new, second: change.old)
    }
    try ValueMap.diff(from: base, to: second) { (change) throws(StoreError) in
      guard !change.isDirectory else { return }
      var triple = triples[change.key] ?? MergeTriple(base: change.old, first: change.old)
      triple.second = change.new
      triples[change.key] = triple
    }
    return triples
  }
}

/// The merge of two versions before an arbiter has decided; nothing of it refers to an open file.
package struct PlannedMerge: Sendable {
  /// The common ancestor; the newest if there are several, nil for unrelated histories.
  package let commonAncestor: Version?
  /// The versions; the merge's changes transform the first one's values.
  package let versions: (first: Version, second: Version)
  fileprivate let first: HistoryNode
  fileprivate let second: HistoryNode
  fileprivate let triples: [Key: MergeTriple]

  /// The versions that stored the ancestor's and both sides' bytes of each value that differs.
  package var stored: [Key: (base: VersionNumber?, first: VersionNumber?, second: VersionNumber?)] {
    triples.mapValues {
      ($0.base?.storedVersion, $0.first?.storedVersion, $0.second?.storedVersion)
    }
  }
}

/// A merge to decide, or the version of two versions that need no merge.
package enum MergeOrVersion: Sendable {
  case fastForward(Version)
  case merge(PlannedMerge)
}

extension WriteTransaction {
  func merge(
    _ first: HistoryNode, _ second: HistoryNode, _ triples: [Key: MergeTriple],
    _ resolved: [Key: Value.Change], _ given: Version.Metadata
  ) throws(StoreError) -> VersionRecord {
    let number = try reserveVersion()
    var recorded: [Key: RecordedMergeChange] = [:]
    for (key, triple) in triples where resolved[key] == nil {
      let (base, a, b) = (triple.base?.storedVersion, triple.first, triple.second)
      if b?.storedVersion == base { continue }
      if a?.storedVersion == base {
        recorded[key] =
          b.map { .value($0.stored, kind: $0.kind, storedBy: $0.storedVersion) } ?? .removal
      } else if let a, let b {
        // Equal bytes need no decision.
        guard a.hasSameUnit(as: b) else { throw .unresolvedConflict(key) }
      } else if a != nil || b != nil {
        throw .unresolvedConflict(key)
      }
    }
    for (key, change) in resolved {
      switch change {
      case .insert(let value), .update(let value):
        recorded[key] = .value(try write(value.data), kind: nil, storedBy: number)
      case .remove, .preserveRemoval: recorded[key] = .removal
      case .preserve(let reference): recorded[key] = try preserved(reference)
      }
    }
    return try addMerge(of: first, second, recorded, number: number, given)
  }

  /// Adds an authored merge: the bytes are recorded, and every peer computes everything else from these.
  func addMerge(
    of first: HistoryNode, _ second: HistoryNode, _ recorded: [Key: RecordedMergeChange],
    number: VersionNumber, _ given: Version.Metadata
  ) throws(StoreError) -> VersionRecord {
    let result = try merger.follow(
      recorded, first: first, second: second,
      options: Merger.Options(
        arbiter: OneSideClashArbiter(.first), number: number,
        allotRevision: { () throws(StoreError) in try self.allotRevisions() }),
      writingTo: nodes)
    var metadata = given
    metadata[.digest] = Version.MetadataValue(result.map.contentDigest.hex)
    metadata[.writer] = try writer(of: number, after: [first.number, second.number])
    if let fault = Version.fault(of: metadata) { throw .invalid(fault) }
    let version = Version(
      id: .random(), predecessors: .init(idOfFirst: first.id, idOfSecond: second.id),
      timestamp: try timestamp(after: [first.number, second.number]), metadata: metadata)
    return try add(result, version, number: number, flags: .madeHere)
  }

  private func preserved(_ reference: Value.Reference) throws(StoreError) -> RecordedMergeChange {
    guard let record = try version(reference.storedVersionId),
      let entry = try store.map(of: record).entry(at: reference.valueId),
      entry.storedVersion == record.number
    else { throw .invalid("there is no value of \(reference.valueId.rawValue) to preserve") }
    // The reference shows that a predecessor holds it; else they are new bytes (docs/merging.md, M10).
    return .value(entry.stored, kind: nil, storedBy: entry.storedVersion)
  }
}
