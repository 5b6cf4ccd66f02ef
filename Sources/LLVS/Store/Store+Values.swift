extension Store {
  /// Returns a value at a version; nil if the version has none at that key.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func value(id valueId: Value.ID, at versionId: Version.ID) throws -> Value? {
    try backend.value(valueId, at: versionId)
  }

  /// - Throws: as ``value(id:at:)``.
  public func value(idString valueIdString: String, at versionId: Version.ID) throws -> Value? {
    try value(id: Value.ID(valueIdString), at: versionId)
  }

  /// Returns the value that a version stored; nil if it stored none at that key, or does not exist.
  /// - Throws: the error of a damaged store.
  public func value(id valueId: Value.ID, storedAt versionId: Version.ID) throws -> Value? {
    try backend.value(valueId, storedAt: versionId)
  }

  /// - Throws: as ``value(id:storedAt:)``.
  public func value(storedAt valueReference: Value.Reference) throws -> Value? {
    try value(id: valueReference.valueId, storedAt: valueReference.storedVersionId)
  }

  /// Returns the reference of a value at a version; nil if the version has none at that key.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueReference(
    id valueId: Value.ID, at versionId: Version.ID
  ) throws -> Value.Reference? {
    try backend.reference(valueId, at: versionId)
  }

  /// Returns the references of all values of a version.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueReferences(at versionId: Version.ID) throws -> [Value.Reference] {
    try backend.references(at: versionId)
  }

  /// Calls the body with the reference of each value of a version.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store; that of the body.
  public func enumerate(
    version versionId: Version.ID, executingForEach block: (Value.Reference) throws -> Void
  ) throws {
    for reference in try backend.references(at: versionId) { try block(reference) }
  }
}

extension Store {
  /// Returns the changes that a version makes to the values of its first predecessor.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueChanges(
    madeInVersionIdentifiedBy versionId: Version.ID
  ) throws -> [Value.Change] {
    try backend.changes(madeIn: versionId)
  }

  /// Returns the inserts, updates and removals that turn the values of any version into another's.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueChanges(
    madeBetween firstId: Version.ID, and secondId: Version.ID
  ) throws -> [Value.Change] {
    try backend.changes(from: firstId, to: secondId)
  }

  /// - Throws: as ``valueChanges(madeBetween:and:)``, which returns the same.
  public func valueChanges(
    updatingFrom firstId: Version.ID, to secondId: Version.ID
  ) throws -> [Value.Change] {
    try backend.changes(from: firstId, to: secondId)
  }
}
