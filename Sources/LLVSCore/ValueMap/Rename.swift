/// A value whose key differs between one version and the next.
///
/// A rename is certain, not guessed: exactly one key lost these bytes, of the same kind, and exactly one key got
/// them. Empty values are never considered, because all of them are equal.
package struct Rename: Hashable, Sendable {
  package var old: Entry
  /// The second map's entry at the new key; its attributes may differ.
  package var new: Entry

  package init(old: Entry, new: Entry) {
    self.old = old
    self.new = new
  }

  /// The properties that identify a renamed value.
  struct Unit: Hashable {
    let digest: Digest
    let kind: EntryKind

    /// Nil if renames of the entry cannot be found.
    init?(_ entry: Entry) {
      guard entry.kind == .regular || entry.kind == .symlink, entry.stored.length > 0 else {
        return nil
      }
      digest = entry.stored.digest
      kind = entry.kind
    }
  }

  /// The removal and the insertion of a unit; ambiguous if there were several of either.
  private struct Ends {
    var old: Entry?
    var new: Entry?
    var isAmbiguous = false
  }

  /// The renames in a diff, in ascending order of the old key; `changes` should be complete.
  package static func all(in changes: some Sequence<MapChange>) -> [Rename] {
    var ends: [Unit: Ends] = [:]
    for change in changes { add(change, in: &ends, among: nil) }
    return ends.values.compactMap(rename).sorted { $0.old.key < $1.old.key }
  }

  static func find(
    _ wanted: Set<Unit>, from old: ValueMap, to new: ValueMap
  ) throws(StoreError) -> [Key: Rename] {
    var ends: [Unit: Ends] = [:]
    guard !wanted.isEmpty else { return [:] }
    try ValueMap.diff(from: old, to: new) { add($0, in: &ends, among: wanted) }
    let found = ends.values.compactMap(rename)
    return Dictionary(found.map { ($0.old.key, $0) }) { $1 }
  }

  private static func add(
    _ change: MapChange, in ends: inout [Unit: Ends], among wanted: Set<Unit>?
  ) {
    let (entry, isRemoval): (Entry, Bool)
    switch (change.old, change.new) {
    case (let old?, nil): (entry, isRemoval) = (old, true)
    case (nil, let new?): (entry, isRemoval) = (new, false)
    default: return
    }
    guard let unit = Unit(entry), wanted?.contains(unit) ?? true else { return }
    let path: WritableKeyPath<Ends, Entry?> = isRemoval ? \.old : \.new
    var known = ends[unit] ?? Ends()
    if known[keyPath: path] == nil {
      known[keyPath: path] = entry
    } else {
      known.isAmbiguous = true
    }
    ends[unit] = known
  }

  private static func rename(_ ends: Ends) -> Rename? {
    guard !ends.isAmbiguous, let old = ends.old, let new = ends.new else { return nil }
    return Rename(old: old, new: new)
  }
}

extension ValueMap {
  /// Finds the renames from one map to another, in ascending order of the old key.
  package static func renames(
    from old: ValueMap, to new: ValueMap, prefix: [UInt8] = []
  ) throws(StoreError) -> [Rename] {
    var changes: [MapChange] = []
    try diff(from: old, to: new, prefix: prefix, comparing: .content) { change in
      if change.old == nil || change.new == nil { changes.append(change) }
    }
    return Rename.all(in: changes)
  }
}
