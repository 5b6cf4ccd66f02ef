internal import Synchronization

/// Reading values and versions; the declarations have the names of the original.
extension Store {
  package func version(identifiedBy id: Version.ID) throws(StoreError) -> Version? {
    guard let record = try version(id) else { return nil }
    return try version(from: record)
  }

  /// Returns a value as it is at a version; nil if the version has none at that key.
  package func value(id: Value.ID, at version: Version.ID) throws(StoreError) -> Value? {
    guard let entry = try entry(id, at: version) else { return nil }
    return try value(entry)
  }

  /// Returns the value whose key has this text, as it is at a version.
  package func value(idString: String, at version: Version.ID) throws(StoreError) -> Value? {
    try value(id: Value.ID(idString), at: version)
  }

  /// Returns a value if this version stored it; nil if the version stored nothing at the key.
  package func value(id: Value.ID, storedAt version: Version.ID) throws(StoreError) -> Value? {
    guard let record = try self.version(version) else { throw .missingVersion(version) }
    guard let entry = try map(of: record).entry(at: id), entry.storedVersion == record.number
    else { return nil }
    return try value(entry)
  }

  /// Returns the value that a reference names; nil if there is none.
  package func value(storedAt reference: Value.Reference) throws(StoreError) -> Value? {
    try value(id: reference.valueId, storedAt: reference.storedVersionId)
  }

  /// Returns the reference of a value as it is at a version; nil if the version has none at that
  /// key.
  package func valueReference(
    id: Value.ID, at version: Version.ID
  ) throws(StoreError) -> Value.Reference? {
    guard let entry = try entry(id, at: version) else { return nil }
    return try reference(entry)
  }

  /// Returns the references of all values at a version, in ascending order of keys.
  package func valueReferences(at version: Version.ID) throws(StoreError) -> [Value.Reference] {
    var references: [Value.Reference] = []
    try forEachReference(at: version) { references.append($0) }
    return references
  }

  /// Calls the body with the reference of every value at a version, in ascending order of keys.
  ///
  /// - Throws: ``StoreError/missingVersion(_:)`` if the version is not in the store; the body's
  ///   errors.
  package func enumerate(
    version: Version.ID, executingForEach body: (Value.Reference) throws -> Void
  ) throws {
    // The body is the caller's and may throw any error.
    var failure: (any Error)?
    do throws(StoreError) {
      try forEachReference(at: version) { (reference) throws(StoreError) in
        do { try body(reference) } catch {
          failure = error
          throw .cancelled
        }
      }
    } catch {
      throw failure ?? error
    }
  }

  private func forEachReference(
    at version: Version.ID, _ body: (Value.Reference) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let record = try self.version(version) else { throw .missingVersion(version) }
    var cursor = MapCursor(map(of: record))
    try cursor.seekToStart()
    while let entry = try cursor.next() {
      if !entry.isDirectory { try body(try reference(entry)) }
    }
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

  /// The newest head: the greatest by (timestamp, generation, id); nil if the store is empty.
  package var mostRecentHead: Version? {
    get throws(StoreError) {
      guard let node = try graph.mostRecentHead(), let record = try version(node.number) else {
        return nil
      }
      return try version(from: record)
    }
  }

  /// True if more than one version has no successor.
  package var hasMultipleHeads: Bool {
    get throws(StoreError) { try headNumbers().count > 1 }
  }

  /// Calls the body with the history of the store.
  package func queryHistory<Result>(in body: (History) throws -> Result) throws -> Result {
    try body(History(store: self))
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
    // A caller that reads one value of a version mostly reads more; the row of a version never
    // changes.
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
