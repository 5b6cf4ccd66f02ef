/// Making versions from changes: the names of the original.
extension Store {
  /// Makes a version from a predecessor by inserting, updating and removing values.
  ///
  /// - Parameters:
  ///   - version: what it is based on; nil makes a root.
  ///   - insertedValues: values that are new; one that is there is updated.
  ///   - updatedValues: values with new bytes.
  ///   - removedIds: keys whose values go away.
  ///   - metadata: what is said of the version.
  /// - Returns: the version that was made.
  /// - Throws: ``StoreError/attemptToAddVersionWithNonexistingPredecessors(_:)`` if the predecessor is
  ///   not in the store.
  @discardableResult
  public func makeVersion(
    basedOnPredecessor version: Version.ID?, inserting insertedValues: [Value] = [],
    updating updatedValues: [Value] = [], removing removedIds: [Value.ID] = [],
    metadata: Version.Metadata = [:]
  ) throws(StoreError) -> Version {
    let changes =
      insertedValues.map { Value.Change.insert($0) } + updatedValues.map { .update($0) }
      + removedIds.map { .remove($0) }
    return try makeVersion(basedOnPredecessor: version, storing: changes, metadata: metadata)
  }

  /// Makes a version from a predecessor by a list of changes; of several for one key the last counts.
  @discardableResult
  public func makeVersion(
    basedOnPredecessor version: Version.ID?, storing changes: [Value.Change],
    metadata: Version.Metadata = [:]
  ) throws(StoreError) -> Version {
    try makeVersion(
      basedOn: version.map { Version.Predecessors(idOfFirst: $0) }, storing: changes,
      metadata: metadata)
  }

  /// Makes a version from one or two predecessors: the changes transform the first one's values.
  ///
  /// `preserve` and `preserveRemoval` take what the second predecessor has.
  @discardableResult
  public func makeVersion(
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
  /// Adds an authored version made of changes of values.
  package func makeVersion(
    basedOn predecessors: Version.Predecessors?, storing changes: [Value.Change],
    metadata: Version.Metadata = [:]
  ) throws(StoreError) -> VersionRecord {
    var records: [VersionRecord] = []
    for predecessor in predecessors?.ids ?? [] {
      guard let record = try version(predecessor) else {
        throw .attemptToAddVersionWithNonexistingPredecessors(predecessor)
      }
      records.append(record)
    }
    let number = try reserveVersion()
    var last: [Key: Value.Change] = [:]
    for change in changes { last[change.key] = change }
    let before = store.map(records.first?.map ?? .empty)
    let other = store.map(records.dropFirst().first?.map ?? .empty)
    var edits: [MapEdit] = []
    var recorded: [RecordedChange] = []
    var known: [MapChange] = []
    for (key, change) in last.sorted(by: { $0.key < $1.key }) {
      let old = try before.entry(at: key)
      switch change {
      case .insert(let value), .update(let value):
        let new = try entry(value, replacing: old, in: number)
        edits.append(.put(new))
        known.append(MapChange(old: old, new: new))
        recorded.append(old == nil ? .insert(key) : .update(key))
      case .remove:
        guard old != nil else { continue }
        edits.append(.remove(key, directory: false))
        known.append(MapChange(old: old, new: nil))
        recorded.append(.remove(key))
      case .preserve(let reference):
        guard let entry = try preserved(reference, old, other) else {
          throw .invalid("neither predecessor holds what is to be preserved at \(key.rawValue)")
        }
        if entry == old { continue }
        edits.append(.put(entry))
        known.append(MapChange(old: old, new: entry))
        recorded.append(.preserve(key, storedVersion: reference.storedVersionId))
      case .preserveRemoval:
        guard old != nil else { continue }
        edits.append(.remove(key, directory: false))
        known.append(MapChange(old: old, new: nil))
        recorded.append(.preserveRemoval(key))
      }
    }
    let map = try before.applying(edits: edits)
    var version = AuthoredVersion(
      number: number, first: records.first?.number, second: records.dropFirst().first?.number,
      base: before, map: map, line: Version.line(metadata), metadata: metadata,
      // With one predecessor the two maps say it all.
      changes: records.count > 1 ? try write(ChangeList.encode(recorded)) : nil)
    version.known = known
    return try add(version)
  }

  private func entry(
    _ value: Value, replacing old: Entry?, in number: VersionNumber
  ) throws(StoreError) -> Entry {
    var attributes = old?.attributes ?? Attributes()
    // New bytes without a recorded time: the version's own is shown (rule 14 of merging).
    attributes.mtime = nil
    let kind = old.map { $0.kind == .symlink ? .symlink : .regular } ?? EntryKind.regular
    let inode = if let old, old.inode != 0 { old.inode } else { try allotInodes() }
    return Entry(
      key: value.id, kind: kind, attributes: attributes, stored: try write(value.data),
      storedVersion: number, inode: inode, revision: try allotRevisions())
  }

  /// The entry with that reference: the second predecessor's, or the first's own.
  private func preserved(
    _ reference: Value.Reference, _ old: Entry?, _ other: ValueMap
  ) throws(StoreError) -> Entry? {
    guard let stored = try version(reference.storedVersionId)?.number else { return nil }
    if let entry = try other.entry(at: reference.valueId), entry.storedVersion == stored {
      return entry
    }
    return old?.storedVersion == stored ? old : nil
  }
}

extension Value.Change {
  /// The key that the change is about.
  public var key: Value.ID {
    switch self {
    case .insert(let value), .update(let value): value.id
    case .remove(let id), .preserveRemoval(let id): id
    case .preserve(let reference): reference.valueId
    }
  }
}
