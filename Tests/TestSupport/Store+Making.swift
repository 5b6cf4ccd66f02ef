package import LLVSCore

extension Store {
  /// Makes a version from a predecessor by changes; of several changes of one key the last counts.
  @discardableResult
  package func makeVersion(
    basedOnPredecessor version: Version.ID?, storing changes: [Value.Change] = [],
    inserting insertedValues: [Value] = [], updating updatedValues: [Value] = [],
    removing removedIds: [Value.ID] = [], metadata: Version.Metadata = [:]
  ) throws(StoreError) -> Version {
    var changes = changes
    changes += insertedValues.map { Value.Change.insert($0) }
    changes += updatedValues.map { Value.Change.update($0) }
    changes += removedIds.map { Value.Change.remove($0) }
    return try makeVersion(
      basedOn: version.map { Version.Predecessors(idOfFirst: $0) }, storing: changes,
      metadata: metadata)
  }
}
