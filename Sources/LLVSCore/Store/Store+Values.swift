internal import Synchronization

/// Reading values and versions; the declarations have the names of the original.
extension Store {
  package func value(id: Value.ID, at version: Version.ID) throws(StoreError) -> Value? {
    guard let entry = try entry(id, at: version) else { return nil }
    return try value(entry)
  }

  package func value(id: Value.ID, storedAt version: Version.ID) throws(StoreError) -> Value? {
    guard let record = try self.version(version) else { throw .missingVersion(version) }
    guard let entry = try map(of: record).entry(at: id), entry.storedVersion == record.number
    else { return nil }
    return try value(entry)
  }

  package func valueReference(
    id: Value.ID, at version: Version.ID
  ) throws(StoreError) -> Value.Reference? {
    guard let entry = try entry(id, at: version) else { return nil }
    return try reference(entry)
  }

  /// Returns the references of all values at a version, in ascending order of keys.
  package func valueReferences(at version: Version.ID) throws(StoreError) -> [Value.Reference] {
    guard let record = try self.version(version) else { throw .missingVersion(version) }
    var cursor = MapCursor(map(of: record))
    var references: [Value.Reference] = []
    while let entry = try cursor.next() {
      if !entry.isDirectory { references.append(try reference(entry)) }
    }
    return references
  }

  /// Returns the versions in which a value was stored, oldest first.
  package func versionIds(for id: Value.ID) throws(StoreError) -> [Version.ID] {
    var ids: [Version.ID] = []
    for record in try versions(changing: id) {
      guard let entry = try map(of: record).entry(at: id), entry.storedVersion == record.number
      else { continue }
      ids.append(record.id)
    }
    return ids
  }

  package func version(from record: VersionRecord) throws(StoreError) -> Version {
    var predecessors: Version.Predecessors?
    if let first = record.first {
      predecessors = Version.Predecessors(
        idOfFirst: try id(of: first),
        idOfSecond: try record.second.map { number throws(StoreError) in try id(of: number) })
    }
    return Version(
      id: record.id, predecessors: predecessors, timestamp: record.timestamp,
      valueDataSize: record.valueDataSize, metadata: try metadata(of: record))
  }

  package func id(of number: VersionNumber) throws(StoreError) -> Version.ID {
    try graph.node(number).id
  }

  private func entry(_ id: Value.ID, at version: Version.ID) throws(StoreError) -> Entry? {
    // Callers usually read several values of a version, and its row never changes.
    if let asked = lastAsked.withLock({ $0 }), asked.id == version {
      return try map(of: asked).entry(at: id)
    }
    guard let record = try self.version(version) else { throw .missingVersion(version) }
    lastAsked.withLock { $0 = record }
    return try map(of: record).entry(at: id)
  }

  func value(_ entry: Entry) throws(StoreError) -> Value {
    Value(
      id: entry.key, data: try contents.bytes(entry.stored),
      storedVersionId: try id(of: entry.storedVersion))
  }

  func reference(_ entry: Entry) throws(StoreError) -> Value.Reference {
    Value.Reference(valueId: entry.key, storedVersionId: try id(of: entry.storedVersion))
  }
}
