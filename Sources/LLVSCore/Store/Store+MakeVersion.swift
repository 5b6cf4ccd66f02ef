/// Making versions from changes; the declarations have the names of the original.
extension Store {
  /// Makes a version from one or two predecessors by changes of the first one's values; `preserve` and
  /// `preserveRemoval` take the state of the second.
  /// - Throws: ``StoreError/invalid(_:)`` for a version that other stores would refuse.
  @discardableResult
  package func makeVersion(
    basedOn predecessors: Version.Predecessors?, storing changes: [Value.Change],
    metadata: Version.Metadata = [:]
  ) throws(StoreError) -> Version {
    let record = try write { (transaction) throws(StoreError) in
      try transaction.makeVersion(basedOn: predecessors, storing: changes, metadata: metadata)
    }
    return try version(from: record)
  }
}

extension WriteTransaction {
  package func makeVersion(
    basedOn predecessors: Version.Predecessors?, storing changes: [Value.Change],
    metadata: Version.Metadata = [:]
  ) throws(StoreError) -> VersionRecord {
    if let fault = Version.fault(ofGiven: metadata) { throw .invalid(fault) }
    if let predecessors, predecessors.idOfFirst == predecessors.idOfSecond {
      throw .invalid("both predecessors are one version")
    }
    var records: [VersionRecord] = []
    for predecessor in predecessors?.ids ?? [] {
      guard let record = try version(predecessor) else {
        throw .attemptToAddVersionWithNonexistingPredecessors(predecessor)
      }
      records.append(record)
    }
    var last: [Key: Value.Change] = [:]
    for change in changes { last[change.key] = change }
    if records.count == 2 { return try makeMerge(of: records[0], records[1], last, metadata) }
    let number = try reserveVersion()
    let before = store.map(of: records.first)
    var edits: [MapEdit] = []
    var known: [MapChange] = []
    for (key, change) in last.sorted(by: { $0.key < $1.key }) {
      let old = try before.entry(at: key)
      switch change {
      case .insert(let value), .update(let value):
        let new = try entry(value, replacing: old, in: number)
        edits.append(.put(new))
        known.append(MapChange(old: old, new: new))
      case .remove, .preserveRemoval:
        guard old != nil else { continue }
        edits.append(.remove(key, directory: false))
        known.append(MapChange(old: old, new: nil))
      case .preserve(let reference):
        // The existing value may be preserved.
        _ = try preserved(reference, old, nil)
      }
    }
    let map = try before.applying(edits: edits)
    var version = AuthoredVersion(
      number: number, first: records.first?.number, base: before, map: map,
      line: Version.line(metadata), metadata: metadata)
    version.known = known
    return try add(version, isBounded: true)
  }

  /// Adds a merge from changes of the first's values; the rules decide attributes and directories.
  private func makeMerge(
    of first: VersionRecord, _ second: VersionRecord, _ changes: [Key: Value.Change],
    _ metadata: Version.Metadata
  ) throws(StoreError) -> VersionRecord {
    let number = try reserveVersion()
    let (before, other) = (store.map(of: first), store.map(of: second))
    var recorded: [Key: RecordedMergeChange] = [:]
    for (key, change) in changes {
      switch change {
      case .insert(let value), .update(let value):
        recorded[key] = .value(try write(value.data), kind: nil, storedBy: number)
      case .remove, .preserveRemoval: recorded[key] = .removal
      case .preserve(let reference):
        let entry = try preserved(reference, try before.entry(at: key), try other.entry(at: key))
        recorded[key] = .value(entry.stored, kind: entry.kind, storedBy: entry.storedVersion)
      }
    }
    return try addMerge(
      of: HistoryNode(first), HistoryNode(second), recorded, number: number, metadata)
  }

  private func entry(
    _ value: Value, replacing old: Entry?, in number: VersionNumber
  ) throws(StoreError) -> Entry {
    var attributes = old?.attributes ?? Attributes()
    // New bytes without a recorded time: the version's own is shown (docs/merging.md, M14).
    attributes.mtime = nil
    attributes.device = nil
    let kind = old.map { $0.kind == .symlink ? .symlink : .regular } ?? EntryKind.regular
    return Entry(
      key: value.id, kind: kind, attributes: attributes,
      stored: try write(value.data, after: old?.stored),
      storedVersion: number, revision: try allotRevisions())
  }

  private func preserved(
    _ reference: Value.Reference, _ old: Entry?, _ other: Entry?
  ) throws(StoreError) -> Entry {
    let stored = try version(reference.storedVersionId)?.number
    guard let held = [other, old].compactMap(\.self).first(where: { $0.storedVersion == stored })
    else {
      throw .invalid(
        "no predecessor holds what is to be preserved at \(reference.valueId.rawValue)")
    }
    return held
  }
}

extension Value.Change {
  package var key: Value.ID {
    switch self {
    case .insert(let value), .update(let value): value.id
    case .remove(let id), .preserveRemoval(let id): id
    case .preserve(let reference): reference.valueId
    }
  }
}
