extension Store {
  /// Makes a version from a predecessor by inserting, updating and removing values.
  /// An inserted value that exists is updated.
  /// - Throws: ``Store/Error/attemptToAddVersionWithNonexistingPredecessors(_:)``, ``Store/Error/busy(_:)``.
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

  /// Makes a version from a predecessor; of several changes of one key the last counts.
  /// - Throws: as ``makeVersion(basedOnPredecessor:inserting:updating:removing:metadata:)``.
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
  /// `preserve` and `preserveRemoval` take the state of the second predecessor.
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

  /// Adds a version that another store made, after the checks of an exchange.
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
