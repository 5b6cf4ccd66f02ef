/// Reading values. Functions with a version throw ``Store/Error/missingVersion`` if the store lacks it.
extension Store {
  /// Returns a value at a version; nil if the version has none at that key.
  public func value(id valueId: Value.ID, at versionId: Version.ID) throws -> Value? {
    try backend.value(valueId, at: versionId)
  }

  /// Returns the value whose key has this text, as ``value(id:at:)`` does.
  public func value(
    idString valueIdString: String, at versionId: Version.ID
  ) throws -> Value? {
    try value(id: Value.ID(valueIdString), at: versionId)
  }

  /// Returns the value that a version stored; nil if it stored none at that key, or does not exist.
  public func value(id valueId: Value.ID, storedAt versionId: Version.ID) throws -> Value? {
    try backend.value(valueId, storedAt: versionId)
  }

  /// Returns the value that a reference names, as ``value(id:storedAt:)`` does.
  public func value(storedAt valueReference: Value.Reference) throws -> Value? {
    try value(id: valueReference.valueId, storedAt: valueReference.storedVersionId)
  }

  /// Returns the reference of a value at a version; nil if the version has none at that key.
  public func valueReference(
    id valueId: Value.ID, at versionId: Version.ID
  ) throws -> Value.Reference? {
    try backend.reference(valueId, at: versionId)
  }

  /// Returns the references of all values of a version.
  public func valueReferences(at versionId: Version.ID) throws -> [Value.Reference] {
    try backend.references(at: versionId)
  }

  /// Calls the body with the reference of each value of a version.
  public func enumerate(
    version versionId: Version.ID, executingForEach block: (Value.Reference) throws -> Void
  ) throws {
    for reference in try backend.references(at: versionId) { try block(reference) }
  }
}

/// Differences between versions; these throw ``Store/Error/missingVersion`` too.
extension Store {
  /// Returns the changes that a version makes to the values of its first predecessor.
  public func valueChanges(
    madeInVersionIdentifiedBy versionId: Version.ID
  ) throws -> [Value.Change] {
    try backend.changes(madeIn: versionId)
  }

  /// Returns the inserts, updates and removals that turn the values of any version into another's.
  public func valueChanges(
    madeBetween firstId: Version.ID, and secondId: Version.ID
  ) throws -> [Value.Change] {
    try backend.changes(from: firstId, to: secondId)
  }

  /// Returns the same as ``valueChanges(madeBetween:and:)``.
  public func valueChanges(
    updatingFrom firstId: Version.ID, to secondId: Version.ID
  ) throws -> [Value.Change] {
    try backend.changes(from: firstId, to: secondId)
  }
}
