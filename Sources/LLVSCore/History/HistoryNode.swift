/// What the history knows of a version.
package struct HistoryNode: Hashable, Sendable {
  package var number: VersionNumber
  package var id: Version.ID
  package var first: VersionNumber?
  package var second: VersionNumber?
  /// 1 for a root, else 1 + the greatest of the predecessors'.
  package var generation: UInt32
  /// Seconds since 2001-01-01 UTC.
  package var timestamp: Double
  /// The version's own line; nil for the unnamed one.
  package var line: Branch?
  /// Whether the id recomputes (docs/merging.md, M3): made by a merge or a repair that every
  /// replica makes alike.
  package var isAutomatic: Bool
  /// Whether its map and those of all its ancestors are empty.
  package var isVoid: Bool
  /// Whether the map of every root that it comes from is empty.
  package var hasEmptyRoots: Bool

  package init(
    number: VersionNumber, id: Version.ID, first: VersionNumber? = nil,
    second: VersionNumber? = nil, generation: UInt32, timestamp: Double, line: Branch? = nil,
    isAutomatic: Bool = false, isVoid: Bool = false, hasEmptyRoots: Bool = false
  ) {
    self.number = number
    self.id = id
    self.first = first
    self.second = second
    self.generation = generation
    self.timestamp = timestamp
    self.line = line
    self.isAutomatic = isAutomatic
    self.isVoid = isVoid
    self.hasEmptyRoots = hasEmptyRoots
  }

  /// Creates the node of a version about to be stored, from its predecessors' nodes.
  package init(
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

  /// Calls with each predecessor, first first.
  @inline(__always)
  package func forEachPredecessor(
    _ body: (VersionNumber) throws(StoreError) -> Void
  ) throws(StoreError) {
    if let first { try body(first) }
    if let second { try body(second) }
  }

  /// What "newest" goes by everywhere: (timestamp, generation, id). A merge never sorts before its
  /// predecessors.
  package static func isOlder(_ a: HistoryNode, _ b: HistoryNode) -> Bool {
    if a.timestamp != b.timestamp { return a.timestamp < b.timestamp }
    if a.generation != b.generation { return a.generation < b.generation }
    return a.id < b.id
  }

  /// The order in which heads are merged and bases taken: (timestamp, id).
  package static func mergesBefore(_ a: HistoryNode, _ b: HistoryNode) -> Bool {
    a.timestamp == b.timestamp ? a.id < b.id : a.timestamp < b.timestamp
  }
}

/// Where the history reads its nodes: the store's catalog.
package protocol HistorySource: AnyObject, Sendable {
  /// The node of a version.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` if there is no version of that number.
  func historyNode(_ number: VersionNumber) throws(StoreError) -> HistoryNode

  /// Versions that no version names as predecessor.
  func historyHeads() throws(StoreError) -> [VersionNumber]

  /// Versions on a line without a successor on the same line.
  func historyHeads(ofLine line: Branch?) throws(StoreError) -> [VersionNumber]
}
