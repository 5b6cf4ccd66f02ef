import TestSupport

@testable import LLVSCore

// Questions of tests that the product answers in other ways.

extension Store {
  /// The newest head by (timestamp, generation, id); nil if the store is empty.
  var mostRecentHead: Version? {
    get throws(StoreError) {
      guard let node = try graph.heads().first, let record = try version(node.number) else {
        return nil
      }
      return try version(from: record)
    }
  }

  func version(identifiedBy id: Version.ID) throws(StoreError) -> Version? {
    guard let record = try version(id) else { return nil }
    return try version(from: record)
  }

  /// The ids of all versions, newest first, each after all its descendants.
  var allVersionIDs: [Version.ID] {
    get throws(StoreError) {
      var ids: [Version.ID] = []
      try forEachVersion { ids.append($0.id) }
      return ids
    }
  }

  /// Makes a version that closes the conflicts of keys without changing their values.
  @discardableResult
  func makeVersion(
    settling ids: [Value.ID], basedOnPredecessor version: Version.ID,
    metadata: Version.Metadata = [:]
  ) throws(StoreError) -> Version {
    var metadata = metadata
    metadata[.settled] = Version.MetadataValue(keys: ids)
    return try makeVersion(basedOnPredecessor: version, storing: [], metadata: metadata)
  }

  func value(idString: String, at version: Version.ID) throws(StoreError) -> Value? {
    try value(id: Value.ID(idString), at: version)
  }

  func value(storedAt reference: Value.Reference) throws(StoreError) -> Value? {
    try value(id: reference.valueId, storedAt: reference.storedVersionId)
  }
}

extension Version {
  /// Returns true if the id is the one that an automatic version with this content has (docs/merging.md, M3).
  func isAutomatic(contentDigest: Digest) -> Bool {
    guard let predecessors else { return false }
    return id
      == .automaticMerge(
        first: predecessors.idOfFirst, second: predecessors.idOfSecond,
        contentDigest: contentDigest, metadataDigest: Self.metadataDigest(metadata))
  }
}

extension HistoryNode {
  /// Creates the node of a version about to be stored, from its predecessors' nodes.
  init(
    number: VersionNumber, id: Version.ID, predecessors: [HistoryNode], timestamp: Double,
    line: Branch?, isAutomatic: Bool, mapIsEmpty: Bool
  ) {
    self.init(
      number: number, id: id, first: predecessors.first?.number,
      second: predecessors.dropFirst().first?.number,
      generation: 1 + (predecessors.map(\.generation).max() ?? 0), timestamp: timestamp,
      line: line, isAutomatic: isAutomatic,
      isVoid: mapIsEmpty && predecessors.allSatisfy(\.isVoid),
      hasEmptyRoots: predecessors.isEmpty ? mapIsEmpty : predecessors.allSatisfy(\.hasEmptyRoots))
  }
}
