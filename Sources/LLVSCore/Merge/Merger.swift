package protocol VersionMaps: AnyObject, Sendable {
  func valueMap(ofVersion number: VersionNumber) throws(StoreError) -> ValueMap

  /// The virtual bases of maps in a storage that are known already.
  func knownBases(over storage: any NodeStorage) -> KnownBases
  var documents: DocumentStates? { get }
}

package enum MergePlan: Hashable, Sendable {
  /// One is an ancestor of the other, or equal: the descendant is the outcome, and no version is made.
  case fastForward(HistoryNode)
  /// A new version over the common ancestors, ascending by (timestamp, id); without one, over an empty base.
  case merge(bases: [HistoryNode])
}

/// Plans and makes merges of versions: pure functions of the versions' content and history, so that replicas that
/// merge the same versions make the same version, id and all.
/// - Concurrency: any thread.
package struct Merger: Sendable {
  package let graph: VersionGraph
  let maps: any VersionMaps

  /// Decides if two versions can be merged, and which bases the merge has.
  /// - Throws: ``StoreError/noCommonAncestor(_:_:)`` for histories without a common ancestor, unless every
  ///   root of both is empty or `allowingUnrelated`.
  package func plan(
    _ a: HistoryNode, _ b: HistoryNode, allowingUnrelated: Bool = false
  ) throws(StoreError) -> MergePlan {
    let common = try graph.commonAncestors(a.number, b.number)
    if common.count == 1 {
      if common[0].number == a.number { return .fastForward(b) }
      if common[0].number == b.number { return .fastForward(a) }
    }
    if common.isEmpty, !allowingUnrelated, !(a.hasEmptyRoots && b.hasEmptyRoots) {
      throw .noCommonAncestor(a.id, b.id)
    }
    return .merge(bases: common)
  }

  package struct Options {
    package var arbiter: any ClashArbiter
    /// The future number of the merge, which stores the arbiter's bytes.
    package var number: VersionNumber
    package var allotRevision: () throws(StoreError) -> UInt64
    package var write: ([UInt8]) throws(StoreError) -> StoredContent

    package init(
      arbiter: any ClashArbiter, number: VersionNumber,
      allotRevision: @escaping () throws(StoreError) -> UInt64,
      write: @escaping ([UInt8]) throws(StoreError) -> StoredContent = MergeDecision.refuse
    ) {
      self.arbiter = arbiter
      self.number = number
      self.allotRevision = allotRevision
      self.write = write
    }
  }

  /// Merges two versions over their bases; new nodes go to `storage`.
  /// For an automatic merge `first` has the smaller id.
  package func merge(
    first: HistoryNode, second: HistoryNode, bases: [HistoryNode], options: Options,
    writingTo storage: any NodeStorage
  ) throws(StoreError) -> MergeResult {
    try merge(
      first: first, second: second, bases: bases, rule: .arbiter(options.arbiter),
      options: options, writingTo: storage)
  }

  /// Makes the map of a merge made elsewhere from its change list: bytes as listed, attributes and directories by
  /// the rules (9 and 14), before the changes in its metadata.
  package func follow(
    _ recorded: [Key: RecordedMergeChange], first: HistoryNode, second: HistoryNode,
    options: Options, writingTo storage: any NodeStorage
  ) throws(StoreError) -> MergeResult {
    let bases = try graph.commonAncestors(first.number, second.number)
    return try merge(
      first: first, second: second, bases: bases, rule: .recorded(recorded), options: options,
      writingTo: storage)
  }

  private func merge(
    first: HistoryNode, second: HistoryNode, bases: [HistoryNode], rule: MapMerge.Rule,
    options: Options, writingTo storage: any NodeStorage
  ) throws(StoreError) -> MergeResult {
    let firstMap = try maps.valueMap(ofVersion: first.number)
    let target = ValueMap(root: firstMap.root, storage: storage, cache: firstMap.cache)
    let numbers = bases.map(\.number)
    var merge = MapMerge(
      base: try baseMap(numbers, of: first.number, second.number),
      bases: numbers.count > 1 ? MergeBases(merger: self, versions: numbers) : nil, first: target,
      second: try maps.valueMap(ofVersion: second.number), firstVersion: first,
      secondVersion: second, rule: rule, graph: graph, number: options.number,
      documents: try documents(rule, first, second), allotRevision: options.allotRevision,
      write: options.write)
    let map = try merge.run()
    return MergeResult(
      first: first, second: second, map: map, edits: merge.edits, changes: merge.changes,
      dropped: merge.dropped)
  }

  /// Nil for merges made elsewhere, which their own change list decides.
  private func documents(
    _ rule: MapMerge.Rule, _ first: HistoryNode, _ second: HistoryNode
  ) throws(StoreError) -> DocumentMerge? {
    guard case .arbiter = rule else { return nil }
    return try maps.documents?.merge(of: first, second)
  }

  /// The map to merge two versions over: that of the one base, the virtual base of several, or the empty map.
  package func baseMap(
    _ bases: [VersionNumber], of first: VersionNumber, _ second: VersionNumber
  ) throws(StoreError) -> ValueMap {
    let map = try maps.valueMap(ofVersion: first)
    if bases.isEmpty { return ValueMap(emptyIn: map.storage, cache: map.cache) }
    if bases.count == 1 { return try maps.valueMap(ofVersion: bases[0]) }
    let known = maps.knownBases(over: map.storage)
    let base = try BaseMaker(merger: self, known: known).map(of: bases)
    let clashes = known.base(of: bases)?.clashes ?? []
    if clashes.isEmpty { return base }
    let other = try maps.valueMap(ofVersion: second)
    var shared = SharedValues(of: first, second, in: self)
    var edits: [MapEdit] = []
    for key in clashes {
      let (a, b) = (try map.entry(at: key), try other.entry(at: key))
      // Over any base, equal values are the result.
      if a?.unit == b?.unit, a?.attributes == b?.attributes { continue }
      if let entry = try shared.newest(at: key) { edits.append(.put(entry)) }
    }
    return edits.isEmpty ? base : try base.applying(edits: edits)
  }

  /// The revisions that a merge, made here or elsewhere, dropped (docs/merging.md, M11). If its predecessors
  /// clashed at a key and the merge has the reference of one, the other's revision was dropped. A change that the
  /// merge holds under a new name is not dropped; the metadata lists partial drops.
  package func drops(of merge: HistoryNode) throws(StoreError) -> [MergeDrop] {
    guard let firstNumber = merge.first, let secondNumber = merge.second else { return [] }
    let bases = try graph.commonAncestors(firstNumber, secondNumber)
    let first = try maps.valueMap(ofVersion: firstNumber)
    let second = try maps.valueMap(ofVersion: secondNumber)
    let base = try baseMap(bases.map(\.number), of: firstNumber, secondNumber)
    let merged = try maps.valueMap(ofVersion: merge.number)
    var dropped: [MergeDrop] = []
    var renamed: [PostponedClash] = []
    var groups: Set<FileGroup> = []
    // A clash is a key that both sides changed: keys that the first did not change are no clashes.
    var diff = try MapDiff(from: base, to: first)
    while let change = try diff.next() {
      guard !change.isDirectory else { continue }
      if let group = FileGroup(companion: change.key) { groups.insert(group) }
      let theirs = try second.entry(at: change.key)
      let triple = MergeTriple(base: change.old, first: change.new, second: theirs)
      guard triple.plainOutcome == nil else { continue }
      let held = try merged.entry(at: change.key)
      if held == nil, let clash = PostponedClash(change.key, triple) { renamed.append(clash) }
      if isSame(held, triple.first) {
        dropped.append(
          MergeDrop(key: change.key, side: .second, entry: triple.second, isPartial: false))
      } else if isSame(held, triple.second) {
        dropped.append(
          MergeDrop(key: change.key, side: .first, entry: triple.first, isPartial: false))
      }
    }
    var others = try MapDiff(from: base, to: second)
    while let place = try others.nextPlace() {
      if !place.isDirectory, let group = FileGroup(companion: place.key) { groups.insert(group) }
    }
    if !groups.isEmpty {
      dropped += try drops(
        ofGroups: groups, base: base, first: first, second: second, merged: merged)
      dropped.sort(by: MergeDrop.precedes)
    }
    let kept = try followed(renamed, base: base, first: first, second: second, merged: merged)
    return kept.isEmpty ? dropped : dropped.filter { !kept.contains($0.key) }
  }

  private func isSame(_ a: Entry?, _ b: Entry?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    return a.storedVersion == b.storedVersion
  }
}
