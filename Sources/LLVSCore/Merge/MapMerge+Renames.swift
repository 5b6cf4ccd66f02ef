// A value that one side renamed and the other changed is changed under its new name, if the rename is certain (see
// ``Rename``) and nothing else has that name; nothing is dropped then. The change must descend from the bytes that
// were renamed. The merge stores the bytes as its own, with the attributes of the renaming side and no time, so
// that every merge of the same heads has the same result.

/// A key that one side changed and the other has no more.
struct PostponedClash {
  let key: Key
  let triple: MergeTriple
  let removedOn: MergeSide
  let unit: Rename.Unit
  /// The version that stored the bytes that both come from.
  let stored: VersionNumber
  let edited: Entry

  /// Nil for everything else.
  init?(_ key: Key, _ triple: MergeTriple) {
    guard triple.plainOutcome == nil, let base = triple.base, let unit = Rename.Unit(base) else {
      return nil
    }
    switch (triple.first, triple.second) {
    case (nil, let second?): (removedOn, edited) = (.first, second)
    case (let first?, nil): (removedOn, edited) = (.second, first)
    default: return nil
    }
    // Change lists do not contain kinds.
    guard edited.kind == base.kind else { return nil }
    self.key = key
    self.triple = triple
    self.unit = unit
    stored = base.storedVersion
  }

  /// The names that a side gave to these values, if the other side has nothing there.
  static func targets(
    of clashes: [PostponedClash], base: ValueMap, first: ValueMap, second: ValueMap,
    _ graph: VersionGraph
  ) throws(StoreError) -> [Key: Entry] {
    var targets: [Key: Entry] = [:]
    for side in [MergeSide.first, .second] {
      var units: Set<Rename.Unit> = []
      for clash in clashes where clash.removedOn == side {
        let isKnown = try graph.isAncestorOrSelf(clash.stored, of: clash.edited.storedVersion)
        if isKnown { units.insert(clash.unit) }
      }
      let (own, other) = side == .first ? (first, second) : (second, first)
      for (key, rename) in try Rename.find(units, from: base, to: own)
      where try other.entry(at: rename.new.key) == nil { targets[key] = rename.new }
    }
    return targets
  }
}

extension MapMerge {
  /// True if changes follow renames: not in virtual bases, nor in merges made elsewhere.
  var mayRename: Bool { if case .arbiter = rule { true } else { false } }

  /// Lets changes follow renames and has the arbiter decide the rest.
  mutating func decidePostponed() throws(StoreError) {
    guard !postponed.isEmpty else { return }
    let targets = try PostponedClash.targets(
      of: postponed, base: base, first: first, second: second, graph)
    let taken = Set(postponed.compactMap { targets[$0.key]?.key })
    if !taken.isEmpty {
      edits.removeAll { !$0.isDirectory && taken.contains($0.key) }
      changes.removeAll { taken.contains($0.key) }
    }
    for clash in postponed {
      guard let target = targets[clash.key] else {
        try mergeValue(clash.key, clash.triple)
        continue
      }
      followed.insert(clash.key)
      remove(clash.key, clash.triple)
      var entry = target
      entry.stored = clash.edited.stored
      entry.storedVersion = number
      try put(
        entry, from: nil,
        MergeTriple(
          base: nil, first: clash.removedOn == .first ? target : nil,
          second: clash.removedOn == .second ? target : nil))
    }
    postponed = []
    sortResults()
  }

  mutating func sortResults() {
    edits.sort(by: MapEdit.precedes)
    changes.sort { $0.key < $1.key }
    dropped.sort(by: MergeDrop.precedes)
  }
}

extension Merger {
  /// The clashes that dropped nothing: the change is under the name that the other side gave.
  func followed(
    _ clashes: [PostponedClash], base: ValueMap, first: ValueMap, second: ValueMap,
    merged: ValueMap
  ) throws(StoreError) -> Set<Key> {
    let targets = try PostponedClash.targets(
      of: clashes, base: base, first: first, second: second, graph)
    var followed: Set<Key> = []
    for clash in clashes {
      guard let target = targets[clash.key], let held = try merged.entry(at: target.key),
        held.hasSameUnit(as: clash.edited)
      else { continue }
      followed.insert(clash.key)
    }
    return followed
  }
}
