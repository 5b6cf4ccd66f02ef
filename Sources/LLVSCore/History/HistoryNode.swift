/// The facts about a version that histories and merges need.
package struct HistoryNode: Hashable, Sendable {
  package var number: VersionNumber
  package var id: Version.ID
  package var first: VersionNumber?
  package var second: VersionNumber?
  package var generation: UInt32
  package var timestamp: Double
  /// The version's own line; nil for the unnamed one.
  package var line: Branch?
  /// True for a merge or repair that replicas make alike, its id computed (docs/merging.md, M3).
  package var isAutomatic = false
  /// True if its map and the maps of all its ancestors are empty.
  package var isVoid = false
  /// True if the map of every root that it descends from is empty.
  package var hasEmptyRoots = false
  /// True if it, or an ancestor, holds values of an imported document.
  package var knowsDocuments = false

  @inline(__always)
  package func forEachPredecessor(
    _ body: (VersionNumber) throws(StoreError) -> Void
  ) throws(StoreError) {
    if let first { try body(first) }
    if let second { try body(second) }
  }

  /// Returns true if the first version is older by (timestamp, generation, id), the order that "newest" means
  /// everywhere. A merge never sorts before its predecessors.
  package static func isOlder(_ a: HistoryNode, _ b: HistoryNode) -> Bool {
    if a.timestamp != b.timestamp { return a.timestamp < b.timestamp }
    if a.generation != b.generation { return a.generation < b.generation }
    return a.id < b.id
  }

  /// True if the first version is before the second by (timestamp, id), as heads are merged.
  package static func mergesBefore(_ a: HistoryNode, _ b: HistoryNode) -> Bool {
    a.timestamp == b.timestamp ? a.id < b.id : a.timestamp < b.timestamp
  }
}

/// The source of a history's nodes, normally the store's catalog.
package protocol HistorySource: AnyObject, Sendable {
  func historyNode(_ number: VersionNumber) throws(StoreError) -> HistoryNode

  /// Returns the versions that are no predecessors.
  func historyHeads() throws(StoreError) -> [VersionNumber]
  func historyHeads(ofLine line: Branch?) throws(StoreError) -> [VersionNumber]
}
