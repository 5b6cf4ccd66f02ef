// The lists of conflicts in the metadata of versions.
//
// `llvs.settled`, in authored versions: a JSON array of keys, ascending, whose conflicts the version
// closes without changing their values.
//
// `llvs.reopened`, in versions that take a settling back: a JSON array of triples, ascending: a key, the id of
// the version that stored or removed the dropped value, and the id of the merge that dropped it.
//
// `llvs.dropped`, in merges: a JSON array of two arrays of keys, ascending. At these keys the merge made bytes of
// its own and dropped a part of the first, or the second, predecessor's value.

extension Version.MetadataKey {
  package static let settled = Version.MetadataKey("llvs.settled")
  package static let reopened = Version.MetadataKey("llvs.reopened")
  package static let dropped = Version.MetadataKey("llvs.dropped")
}

extension Version.MetadataValue {
  package init(keys: [Key]) {
    self.init(data: Self.list(Set(keys).sorted().map { Version.MetadataValue($0.rawValue).data }))
  }

  init(dropped: [MergeDrop]) {
    func keys(_ side: MergeSide) -> [UInt8] {
      Version.MetadataValue(keys: dropped.filter { $0.side == side }.map(\.key)).data
    }
    self.init(data: Self.list([keys(.first), keys(.second)]))
  }

  package init(reopened: [ReopenedDrop]) {
    self.init(
      data: Self.list(
        Set(reopened).sorted().map { drop in
          Self.list(
            [drop.key.rawValue, drop.version.rawValue, drop.merge.rawValue].map {
              Version.MetadataValue($0).data
            })
        }))
  }

  private static func list(_ items: [[UInt8]]) -> [UInt8] {
    [UInt8(ascii: "[")] + items.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
  }
}

extension Version {
  /// The keys that a version's metadata settles; none if it cannot be read.
  package static func settledKeys(_ metadata: Metadata) -> [Key] {
    let texts: [String]? = metadata[.settled]?.value()
    return (texts ?? []).map { Key($0) }
  }

  /// The dropped revisions that a version's metadata opens again; none if it cannot be read.
  package static func reopenedDrops(_ metadata: Metadata) -> [ReopenedDrop] {
    guard let value = metadata[.reopened] else { return [] }
    let triples: [[String]] = value.value() ?? []
    return triples.compactMap { words in
      guard words.count == 3 else { return nil }
      return ReopenedDrop(
        key: Key(words[0]), version: Version.ID(words[1]), merge: Version.ID(words[2]))
    }
  }

  /// The keys that a version settles, or opens again.
  static func namedKeys(_ metadata: Metadata) -> [Key] {
    settledKeys(metadata) + reopenedDrops(metadata).map(\.key)
  }

  static func droppedKeys(_ metadata: Metadata) -> [(MergeSide, Key)] {
    guard let value = metadata[.dropped] else { return [] }
    let lists: [[String]] = value.value() ?? []
    guard lists.count == 2 else { return [] }
    return lists[0].map { (.first, Key($0)) } + lists[1].map { (.second, Key($0)) }
  }
}

/// A dropped revision that was settled and is open again, as versions name it.
package struct ReopenedDrop: Hashable, Comparable, Sendable {
  package let key: Key
  package let version: Version.ID
  package let merge: Version.ID

  package static func < (a: ReopenedDrop, b: ReopenedDrop) -> Bool {
    (a.key, a.version, a.merge) < (b.key, b.version, b.merge)
  }
}

extension MergeResult {
  /// The metadata of the merge that names the dropped values.
  package var droppedMetadata: Version.Metadata {
    let partial = dropped.filter(\.isPartial)
    return partial.isEmpty ? [:] : [.dropped: Version.MetadataValue(dropped: partial)]
  }
}
