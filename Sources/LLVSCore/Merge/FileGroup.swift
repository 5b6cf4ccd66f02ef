/// A database and its companions, which SQLite writes: `X`, `X-journal` and `X-wal`. A merge takes the whole group
/// from one side, because files of both sides together are a damaged database (docs/merging.md, M9).
package struct FileGroup: Hashable, Sendable {
  private static let endings = ["-journal", "-wal"].map { Array($0.utf8) }

  /// The key of the database, then those of its companions, ascending.
  package let members: [Key]

  package init(of database: Key) {
    members = [database] + Self.endings.map { Key(bytes: database.bytes + $0) }
  }

  /// Nil for a key without such an ending.
  package init?(companion key: Key) {
    for ending in Self.endings where key.bytes.count > ending.count {
      let (start, end) = (key.bytes.dropLast(ending.count), key.bytes.suffix(ending.count))
      guard end.elementsEqual(ending), start.last != UInt8(ascii: "/") else { continue }
      self.init(of: Key(bytes: Array(start)))
      return
    }
    return nil
  }

  /// The group of a database or a companion.
  package init(around key: Key) { self = FileGroup(companion: key) ?? FileGroup(of: key) }

  /// The entries of all members, in their order.
  func triples(
    base: ValueMap, first: ValueMap, second: ValueMap
  ) throws(StoreError) -> [MergeTriple] {
    try members.map { (key) throws(StoreError) in
      MergeTriple(
        base: try base.entry(at: key), first: try first.entry(at: key),
        second: try second.entry(at: key))
    }
  }

  /// True if there is a database and both sides changed the group, to different states.
  static func clash(_ triples: [MergeTriple]) -> Bool {
    let database = triples[0]
    guard database.base != nil || database.first != nil || database.second != nil else {
      return false
    }
    return triples.contains { $0.isChanged(.first) } && triples.contains { $0.isChanged(.second) }
      && triples.contains { $0.first?.unit != $0.second?.unit }
  }
}

extension MergeTriple {
  func entry(_ side: MergeSide) -> Entry? { side == .first ? first : second }

  func isChanged(_ side: MergeSide) -> Bool { entry(side)?.unit != base?.unit }
}

extension MapMerge {
  /// Decides groups that both sides changed: all their files are of one side.
  mutating func decideGroups() throws(StoreError) {
    guard !groups.isEmpty else { return }
    for group in groups.sorted(by: { $0.members[0] < $1.members[0] }) {
      // A change that followed a rename is under another name.
      guard followed.isDisjoint(with: group.members), try !isDocument(group) else { continue }
      let triples = try group.triples(base: base, first: first, second: second)
      guard FileGroup.clash(triples), let side = try side(of: group, triples) else { continue }
      let members = Set(group.members)
      edits.removeAll { !$0.isDirectory && members.contains($0.key) }
      changes.removeAll { members.contains($0.key) }
      dropped.removeAll { members.contains($0.key) }
      for (key, triple) in zip(group.members, triples) {
        try mergeValue(key, triple, plain: side == .first ? .first : .second)
        let lost = triple.entry(side.other)
        if triple.isChanged(side.other), lost?.unit != triple.entry(side)?.unit {
          dropped.append(MergeDrop(key: key, side: side.other, entry: lost, isPartial: false))
        }
      }
    }
    sortResults()
  }

  private func isDocument(_ group: FileGroup) throws(StoreError) -> Bool {
    for key in group.members where try documents?.rule(at: key) != nil { return true }
    return false
  }

  /// Has the arbiter decide over the newest change of each side.
  private func side(
    of group: FileGroup, _ triples: [MergeTriple]
  ) throws(StoreError) -> MergeSide? {
    guard case .arbiter(let arbiter) = rule else { return nil }
    // Without a base no arbiter makes bytes of both.
    let clash = MergeClash(
      key: group.members[0], base: nil, first: try newest(.first, triples),
      second: try newest(.second, triples), firstVersion: firstVersion,
      secondVersion: secondVersion)
    guard clash.first != nil || clash.second != nil else { return newer }
    if case .take(let side) = try arbiter.decide(clash) { return side }
    return try clash.newerSide(in: graph)
  }

  /// Nil if the side only removed.
  private func newest(_ side: MergeSide, _ triples: [MergeTriple]) throws(StoreError) -> Entry? {
    var found: (entry: Entry, node: HistoryNode)?
    for triple in triples where triple.isChanged(side) {
      guard let entry = triple.entry(side) else { continue }
      let node = try graph.node(entry.storedVersion)
      if found.map({ HistoryNode.isOlder($0.node, node) }) ?? true { found = (entry, node) }
    }
    return found?.entry
  }
}

extension Merger {
  /// The revisions that a merge dropped because all of a group is of one side.
  func drops(
    ofGroups groups: Set<FileGroup>, base: ValueMap, first: ValueMap, second: ValueMap,
    merged: ValueMap
  ) throws(StoreError) -> [MergeDrop] {
    var dropped: [MergeDrop] = []
    for group in groups {
      let triples = try group.triples(base: base, first: first, second: second)
      guard FileGroup.clash(triples) else { continue }
      for (key, triple) in zip(group.members, triples) where triple.plainOutcome != nil {
        let held = try merged.entry(at: key)
        for side in [MergeSide.first, .second]
        where triple.isChanged(side)
          && held?.storedVersion == triple.entry(side.other)?.storedVersion
          && held?.unit != triple.entry(side)?.unit
        {
          dropped.append(
            MergeDrop(key: key, side: side, entry: triple.entry(side), isPartial: false))
        }
      }
    }
    return dropped
  }
}
