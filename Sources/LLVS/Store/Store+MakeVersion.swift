/// Making versions from changes.
extension Store {
  /// Makes a version from a predecessor by inserting, updating and removing values.
  ///
  /// - Parameters:
  ///   - predecessor: the version that it is based on; nil makes a root.
  ///   - insertedValues: values that are new; a value that is there is updated.
  ///   - updatedValues: values with new bytes.
  ///   - removedIds: keys whose values are removed.
  ///   - metadata: the version's metadata.
  /// - Returns: the version that was made.
  /// - Throws: ``Store/Error/attemptToAddVersionWithNonexistingPredecessors(_:)`` if the predecessor
  ///   is not in the store; ``Store/Error/busy(_:)`` if the store is mounted.
  @discardableResult
  public func makeVersion(
    basedOnPredecessor predecessor: Version.ID?, inserting insertedValues: [Value] = [],
    updating updatedValues: [Value] = [], removing removedIds: [Value.ID] = [],
    metadata: Version.Metadata = [:]
  ) throws -> Version {
    var changes: [Value.Change] = []
    changes.reserveCapacity(insertedValues.count + updatedValues.count + removedIds.count)
    for value in insertedValues { changes.append(.insert(value)) }
    for value in updatedValues { changes.append(.update(value)) }
    for id in removedIds { changes.append(.remove(id)) }
    return try makeVersion(
      basedOnPredecessor: predecessor, storing: changes, metadata: metadata)
  }

  /// Makes a version from a predecessor by a list of changes; of several changes of one key the
  /// last counts.
  @discardableResult
  public func makeVersion(
    basedOnPredecessor predecessor: Version.ID?, storing changes: [Value.Change],
    metadata: Version.Metadata = [:]
  ) throws -> Version {
    try makeVersion(
      basedOn: predecessor.map { Version.Predecessors(idOfFirst: $0) }, storing: changes,
      metadata: metadata)
  }

  /// Makes a version from one or two predecessors by changes of the first one's values.
  ///
  /// `preserve` and `preserveRemoval` take the state of the second predecessor.
  ///
  /// - Throws: ``Store/Error/invalid(_:)`` for a version that other stores would refuse; otherwise
  ///   as ``makeVersion(basedOnPredecessor:inserting:updating:removing:metadata:)``.
  @discardableResult
  public func makeVersion(
    basedOn predecessors: Version.Predecessors?, storing changes: [Value.Change],
    metadata: Version.Metadata = [:]
  ) throws -> Version {
    let version = try backend.makeVersion(
      basedOn: predecessors, storing: changes, metadata: metadata)
    noteNewVersions()
    return version
  }

  /// Adds a version that another store made, after the same checks as a version that an exchange
  /// brings.
  ///
  /// - Parameters:
  ///   - version: the version with its id, its predecessors and its metadata.
  ///   - changes: the changes of the first predecessor's values.
  /// - Throws: ``Store/Error/attemptToAddExistingVersion(_:)``,
  ///   ``Store/Error/attemptToAddVersionWithNonexistingPredecessors(_:)``, or
  ///   ``Store/Error/invalid(_:)`` for a version that breaks a rule.
  public func addVersion(_ version: Version, storing changes: [Value.Change]) throws {
    if try backend.contains(version.id) { throw Error.attemptToAddExistingVersion(version.id) }
    for id in version.predecessors?.ids ?? [] where try !backend.contains(id) {
      throw Error.attemptToAddVersionWithNonexistingPredecessors(version)
    }
    if let error = try backend.add([(version, changes)])[version.id] { throw error }
    noteNewVersions()
  }
}
