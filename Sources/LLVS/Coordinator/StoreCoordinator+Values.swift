extension StoreCoordinator {
  /// Returns a value at the current version; nil if it has none at that key.
  /// - Throws: ``Store/Error``.
  public func value(id: Value.ID) throws -> Value? { try store.value(id: id, at: currentVersion) }

  /// - Throws: as ``value(id:)``.
  public func value(idString: String) throws -> Value? { try value(id: Value.ID(idString)) }

  /// Returns a value at the newest head of a branch; without a head, at the current version.
  /// - Throws: ``Store/Error``.
  public func value(id: Value.ID, on branch: Branch?) throws -> Value? {
    try store.value(id: id, at: versionForBranchOrCurrentHead(for: branch))
  }

  /// - Throws: as ``value(id:on:)``.
  public func value(idString: String, on branch: Branch?) throws -> Value? {
    try value(id: Value.ID(idString), on: branch)
  }

  /// Returns the values that the current version has, in the order of the ids.
  /// - Throws: ``Store/Error``.
  public func values(ids: [Value.ID]) throws -> [Value] {
    let version = currentVersion
    return try ids.compactMap { try store.value(id: $0, at: version) }
  }

  /// Returns all values of a version, by default the current one.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func values(at version: Version.ID? = nil) throws -> [Value] {
    let version = version ?? currentVersion
    return try store.valueReferences(at: version).compactMap { reference in
      try store.value(id: reference.valueId, at: version)
    }
  }

  /// Returns the references of all values of a version, by default the current one.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueReferences(at version: Version.ID? = nil) throws -> [Value.Reference] {
    try store.valueReferences(at: version ?? currentVersion)
  }
}
