package enum MergeSide: Hashable, Sendable {
  case first
  case second

  package var other: MergeSide { self == .first ? .second : .first }
}

/// A key whose bytes, kind or device both sides changed differently, or one changed and one removed.
package struct MergeClash: Sendable {
  package let key: Key
  package let base: Entry?
  /// Nil where the side removed it.
  package let first: Entry?
  package let second: Entry?
  package let firstVersion: HistoryNode
  package let secondVersion: HistoryNode
  /// The two sides as values of a document; nil at other keys.
  var document: DocumentMerge.Clash?
  /// The bases of the merge; nil for one, and where ``base`` is known.
  var bases: MergeBases?

  /// True if bytes may be merged out of both.
  package var mayMergeContent: Bool { document?.mayMergeContent ?? true }

  package func entry(_ side: MergeSide) -> Entry? { side == .first ? first : second }
}

package enum MergeDecision: Sendable {
  /// The side's bytes, or its removal; the other side's are dropped.
  case take(MergeSide)
  /// Bytes made from both, which the merge stores, and the sides that lost something.
  case bytes([UInt8], kind: EntryKind, dropping: [MergeSide])

  /// The `store` closure of merges whose arbiters make no bytes.
  package static func refuse(_ bytes: [UInt8]) throws(StoreError) -> StoredContent {
    throw .invalid("bytes of a merge cannot be stored here")
  }
}

/// Decides clashes; the same answer for the same clash on every replica.
package protocol ClashArbiter: Sendable {
  func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision

  /// Returns the kept value with the bytes of another one where both clash, to settle a conflict; nil if the
  /// arbiter takes values whole.
  func settling(
    _ key: Key, base: Entry?, kept: Entry, with other: Entry
  ) throws(StoreError) -> [UInt8]?
}

extension ClashArbiter {
  package func settling(
    _ key: Key, base: Entry?, kept: Entry, with other: Entry
  ) throws(StoreError) -> [UInt8]? { nil }
}

/// Takes the value that was stored last; a change wins over a removal.
package struct MostRecentChangeClashArbiter: ClashArbiter {
  private let graph: VersionGraph

  package init(graph: VersionGraph) { self.graph = graph }

  package func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision {
    guard let first = clash.first else { return .take(.second) }
    guard let second = clash.second else { return .take(.first) }
    var a = try graph.node(first.storedVersion).timestamp
    var b = try graph.node(second.storedVersion).timestamp
    // A value from a document was written before the document was read.
    if let written = clash.document?.firstTime { a = written }
    if let written = clash.document?.secondTime { b = written }
    return .take(a >= b ? .first : .second)
  }
}

/// Takes everything from the side whose version is newer, removals too.
package struct MostRecentBranchClashArbiter: ClashArbiter {
  package init() {}

  package func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision {
    .take(clash.firstVersion.timestamp >= clash.secondVersion.timestamp ? .first : .second)
  }
}

/// Takes everything from one side: `ours` and `theirs`, by command only.
package struct OneSideClashArbiter: ClashArbiter {
  private let side: MergeSide

  package init(_ side: MergeSide) { self.side = side }
  package func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision { .take(side) }
}
