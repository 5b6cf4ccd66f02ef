/// One of several values that were written apart from each other under one key.
package struct ConcurrentValue: Hashable, Sendable {
  /// The version that stored the value, or that removed it.
  package let version: Version.ID
  /// When that was, in seconds since 2001-01-01 UTC.
  package let timestamp: Double
  /// Nil for a removal.
  package let value: Value?
}

/// Picks one of several concurrent values, for reading; nothing is written.
package protocol Resolver {
  /// Picks from concurrent values.
  ///
  /// - Parameter values: at least one; first what the version itself holds.
  /// - Returns: what stands for all; nil for nothing.
  func resolve(_ values: [ConcurrentValue]) -> Value?
}

/// Picks what was written last; of equal times the one of greater id, the same on every replica.
package struct LastWriterWinsResolver: Resolver, Sendable {
  package init() {}

  /// Returns the value written last; nil if that was a removal.
  package func resolve(_ values: [ConcurrentValue]) -> Value? {
    values.max { ($0.timestamp, $0.version) < ($1.timestamp, $1.version) }?.value
  }
}

extension Resolver where Self == LastWriterWinsResolver {
  /// Picks what was written last.
  package static var lastWriterWins: LastWriterWinsResolver { LastWriterWinsResolver() }
}

extension [ConcurrentValue] {
  /// Returns what a resolver picks; nil where there is nothing.
  package func resolved(with resolver: some Resolver) -> Value? {
    isEmpty ? nil : resolver.resolve(self)
  }
}

/// Several values of one key: what a merge did not take stays readable until somebody who could see it
/// writes, removes or settles the key.
extension Store {
  /// Returns the keys that have concurrent values at a version, ascending.
  ///
  /// - Throws: ``StoreError/missingVersion(_:)`` if the version is not in the store.
  /// - Complexity: O(versions since one that was asked about before, and what is open).
  package func conflictingIds(at version: Version.ID) throws(StoreError) -> [Value.ID] {
    try openConflictKeys(at: try number(of: version))
  }

  /// Returns all concurrent values of a key at a version: first what the version holds, then what merges
  /// did not take, newest first.
  ///
  /// One where nobody disagrees; none where there never was a value, or where it was removed and nobody
  /// disagrees.
  ///
  /// - Throws: ``StoreError/missingVersion(_:)`` if the version is not in the store.
  package func concurrentValues(
    id: Value.ID, at version: Version.ID
  ) throws(StoreError) -> [ConcurrentValue] {
    let number = try number(of: version)
    let open = try openConflicts(at: number, where: { $0 == id }).first
    var values: [ConcurrentValue] = []
    if let held = try value(id: id, at: version), let stored = held.storedVersionId {
      let node = try graph.node(try self.number(of: stored))
      values.append(
        ConcurrentValue(version: stored, timestamp: node.timestamp, value: held))
    } else if open != nil {
      // Removed here, and somebody disagrees.
      let finder = ConflictFinder(merger: Merger(graph: graph, maps: history), source: self)
      let node = try graph.node(try finder.versionRemoving(id, of: number))
      values.append(ConcurrentValue(version: node.id, timestamp: node.timestamp, value: nil))
    }
    for revision in open?.theirs ?? [] {
      values.append(
        ConcurrentValue(
          version: revision.version.id, timestamp: revision.version.timestamp,
          value: try revision.entry.map { entry throws(StoreError) in try value(entry) }))
    }
    return values
  }

  /// Makes a version that closes the conflicts of keys and changes no value.
  ///
  /// - Parameters:
  ///   - ids: the keys.
  ///   - version: what it is based on.
  ///   - metadata: what else is said of it.
  /// - Returns: the version that was made.
  /// - Throws: ``StoreError/attemptToAddVersionWithNonexistingPredecessors(_:)`` if the predecessor is not
  ///   in the store.
  @discardableResult
  package func makeVersion(
    settling ids: [Value.ID], basedOnPredecessor version: Version.ID,
    metadata: Version.Metadata = [:]
  ) throws(StoreError) -> Version {
    var metadata = metadata
    metadata[.settled] = Version.MetadataValue(keys: ids)
    return try makeVersion(basedOnPredecessor: version, storing: [], metadata: metadata)
  }

  private func number(of id: Version.ID) throws(StoreError) -> VersionNumber {
    guard let record = try version(id) else { throw .missingVersion(id) }
    return record.number
  }
}
