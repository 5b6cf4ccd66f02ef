/// The changes of versions; the declarations have the names of the original.
extension Store {
  /// Returns the changes from a version's first predecessor to the version, in ascending order of keys, with the
  /// bytes that it stored; for a merge, the changes that were recorded when it was made.
  package func valueChanges(
    madeInVersionIdentifiedBy id: Version.ID
  ) throws(StoreError) -> [Value.Change] {
    guard let record = try version(id) else { throw .missingVersion(id) }
    var changes: [Value.Change] = []
    try forEachChange(madeIn: record) { (change) throws(StoreError) in
      changes.append(try self.change(change, in: record))
    }
    return changes
  }

  /// Returns the changes from the values of one version to those of any other.
  package func valueChanges(
    madeBetween first: Version.ID, and second: Version.ID
  ) throws(StoreError) -> [Value.Change] {
    guard let from = try version(first) else { throw .missingVersion(first) }
    guard let to = try version(second) else { throw .missingVersion(second) }
    var found: [(change: RecordedChange, entry: Entry?)] = []
    try forEachChange(from: map(of: from), to: map(of: to)) { (change, entry) throws(StoreError) in
      found.append((change, entry))
    }
    var changes: [Value.Change] = []
    changes.reserveCapacity(found.count)
    for (index, item) in found.enumerated() {
      if index % Store.aheadCount == 0 {
        let next = found[index..<min(index + Store.aheadCount, found.count)]
        contents.readAhead(next.lazy.compactMap(\.entry?.stored))
      }
      changes.append(try change(item.change, in: to, of: item.entry))
    }
    return changes
  }

  /// The number of values that are read ahead; each is a chunk of at most 64 KiB.
  private static let aheadCount = 64

  /// Calls the body with each change of a version, in ascending order of keys.
  package func forEachChange(
    madeIn record: VersionRecord, _ body: (RecordedChange) throws(StoreError) -> Void
  ) throws(StoreError) {
    if let stored = record.changes {
      guard let changes = ChangeList.decode(try contents.bytes(stored)) else {
        throw .corrupt("the change list of version \(record.id.rawValue) cannot be read")
      }
      for change in changes { try body(change) }
      return
    }
    let first = try version(record.first)
    try forEachChange(from: map(of: first), to: map(of: record)) {
      (change, _) throws(StoreError) in try body(change)
    }
  }

  private func forEachChange(
    from old: ValueMap, to new: ValueMap,
    _ body: (RecordedChange, Entry?) throws(StoreError) -> Void
  ) throws(StoreError) {
    var diff = try MapDiff(from: old, to: new)
    while let place = try diff.nextPlace() {
      guard !place.isDirectory else { continue }
      guard let new = place.new else {
        try body(.remove(place.key), nil)
        continue
      }
      // A change of attributes alone keeps the version that stored the bytes.
      if let old = place.old, old.hasSameBytes(as: new) { continue }
      let entry = try new.entry()
      try body(place.old == nil ? .insert(entry.key) : .update(entry.key), entry)
    }
  }

  /// Returns a change with its bytes; the version's entry at the key is looked up unless given.
  private func change(
    _ recorded: RecordedChange, in record: VersionRecord, of entry: Entry? = nil
  ) throws(StoreError) -> Value.Change {
    switch recorded {
    case .remove(let key): return .remove(key)
    case .preserveRemoval(let key): return .preserveRemoval(key)
    case .preserve(let key, let version):
      return .preserve(Value.Reference(valueId: key, storedVersionId: version))
    case .insert(let key), .update(let key):
      let found = if let entry { entry } else { try map(of: record).entry(at: key) }
      guard let found else {
        throw .corrupt(
          "the change list of version \(record.id.rawValue) names \(key.rawValue), its map does not"
        )
      }
      let value = try value(found)
      if case .insert = recorded { return .insert(value) }
      return .update(value)
    }
  }
}
