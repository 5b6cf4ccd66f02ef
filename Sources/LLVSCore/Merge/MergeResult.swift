/// A key where a merge differs from its first predecessor (docs/merging.md, M10).
package enum MergeChange: Hashable, Sendable {
  /// The entry of the second predecessor.
  case preserve(Entry)
  /// The second predecessor has nothing at the key.
  case preserveRemoval(Key)
  /// New bytes, stored by the merge, where the first predecessor has nothing.
  case insert(Entry)
  /// New bytes, stored by the merge.
  case update(Entry)
  /// A removal, though the second predecessor has the value.
  case remove(Key)

  package var key: Key {
    switch self {
    case .preserve(let entry), .insert(let entry), .update(let entry): entry.key
    case .preserveRemoval(let key), .remove(let key): key
    }
  }
}

/// A revision that lost a clash; it stays reachable through the predecessor that holds it.
package struct MergeDrop: Hashable, Sendable {
  package let key: Key
  /// The predecessor that has it.
  package let side: MergeSide
  /// Nil if a removal lost.
  package let entry: Entry?
  /// True if the merge made bytes of its own there; its metadata then lists the drop.
  package let isPartial: Bool

  /// The order of a merge's drops: by key, the first predecessor's before the second's.
  static func precedes(_ a: MergeDrop, _ b: MergeDrop) -> Bool {
    a.key == b.key ? a.side == .first && b.side == .second : a.key < b.key
  }
}

package struct MergeResult: Sendable {
  package let first: HistoryNode
  package let second: HistoryNode
  package var map: ValueMap
  /// The edits that make the merged map from the first predecessor's.
  package var edits: [MapEdit]
  /// The change list: every value whose bytes differ from the first predecessor's, in order of key.
  package var changes: [MergeChange]
  package var dropped: [MergeDrop]
  /// Keys whose bytes, presence or attributes came from, or were merged with, the second predecessor.
  package var changedCount: Int { edits.count }
}

extension Version {
  /// The version of an automatic merge (docs/merging.md, M3), equal on every replica. `branch` is the first
  /// predecessor's metadata for its line, byte for byte.
  package init(automatic result: MergeResult, branch: MetadataValue?, extra: Metadata = [:]) {
    var metadata = extra
    metadata[.branch] = branch
    let digest = result.map.contentDigest
    let id = ID.automaticMerge(
      first: result.first.id, second: result.second.id, contentDigest: digest,
      metadataDigest: Self.metadataDigest(metadata))
    metadata[.digest] = MetadataValue(digest.hex)
    self.init(
      id: id, predecessors: Predecessors(idOfFirst: result.first.id, idOfSecond: result.second.id),
      timestamp: max(result.first.timestamp, result.second.timestamp), metadata: metadata)
  }
}
