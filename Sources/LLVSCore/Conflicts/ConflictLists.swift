// What versions say of conflicts in their metadata.
//
// `llvs.settled`, in authored versions: a JSON array of keys, ascending, whose conflicts the version
// closes without changing their values.
//
// `llvs.dropped`, in merges: a JSON array of two arrays of keys, ascending: those of whose value in the
// first, and in the second, predecessor something was dropped when the merge made bytes of its own.

extension Version.MetadataKey {
  /// Carries the keys that the version settles.
  package static let settled = Version.MetadataKey("llvs.settled")
  /// Carries the keys of which the merge dropped something without taking a side.
  package static let dropped = Version.MetadataKey("llvs.dropped")
}

extension Version.MetadataValue {
  /// A list of keys: a JSON array of their texts, in ascending order.
  package init(keys: [Key]) {
    self.init(data: Self.list(Set(keys).sorted().map { Version.MetadataValue($0.rawValue).data }))
  }

  /// Lists of keys, one for each predecessor of a merge.
  init(dropped: [MergeDrop]) {
    func keys(_ side: MergeSide) -> [UInt8] {
      Version.MetadataValue(keys: dropped.filter { $0.side == side }.map(\.key)).data
    }
    self.init(data: Self.list([keys(.first), keys(.second)]))
  }

  private static func list(_ items: [[UInt8]]) -> [UInt8] {
    [UInt8(ascii: "[")] + items.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
  }
}

extension Version {
  /// The keys that a version's metadata settles; none where it cannot be read.
  package static func settledKeys(_ metadata: Metadata) -> [Key] {
    let texts: [String]? = metadata[.settled]?.value()
    return (texts ?? []).map { Key($0) }
  }

  /// The keys of which a merge's metadata says that it dropped something, by predecessor.
  static func droppedKeys(_ metadata: Metadata) -> [(MergeSide, Key)] {
    guard let value = metadata[.dropped] else { return [] }
    let lists: [[String]] = value.value() ?? []
    guard lists.count == 2 else { return [] }
    return lists[0].map { (.first, Key($0)) } + lists[1].map { (.second, Key($0)) }
  }
}

extension MergeResult {
  /// What the merge's metadata has to say of what was dropped.
  package var droppedMetadata: Version.Metadata {
    let partial = dropped.filter(\.isPartial)
    return partial.isEmpty ? [:] : [.dropped: Version.MetadataValue(dropped: partial)]
  }
}
