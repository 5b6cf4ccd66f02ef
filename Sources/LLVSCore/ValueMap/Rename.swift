/// A value that one version has under another key than the version before.
///
/// Certain, never guessed: the same bytes, of the same kind, went from exactly one key and came to
/// exactly one. Empty values are never taken to be renamed, since all of them are alike.
package struct Rename: Hashable, Sendable {
  /// What the first map had at the key that is gone.
  package var old: Entry
  /// What the second map has at the key that is new; its attributes may differ.
  package var new: Entry

  package init(old: Entry, new: Entry) {
    self.old = old
    self.new = new
  }

  /// What tells renamed values apart.
  struct Unit: Hashable {
    let digest: Digest
    let kind: EntryKind

    /// Nil for what cannot be told to be renamed.
    init?(_ entry: Entry) {
      guard entry.kind == .regular || entry.kind == .symlink, entry.stored.length > 0 else {
        return nil
      }
      digest = entry.stored.digest
      kind = entry.kind
    }
  }

  /// The only removal and the only insertion of a unit, or that there were several.
  private struct Ends {
    var old: Entry?
    var new: Entry?
    var isAmbiguous = false
  }

  /// Finds the renames in a diff, in ascending order of the old key.
  ///
  /// - Parameter changes: all changes from one map to another, in any order: what is left out is not
  ///   known to be a second candidate.
  /// - Returns: the renames; each key is in at most one.
  /// - Complexity: O(*k* log *k*) for *k* changes; remembers those that insert or remove.
  package static func all(in changes: some Sequence<MapChange>) -> [Rename] {
    var ends: [Unit: Ends] = [:]
    for change in changes { note(change, in: &ends, among: nil) }
    return ends.values.compactMap(rename).sorted { $0.old.key < $1.old.key }
  }

  /// Finds the renames from one map to another of what has one of these units.
  ///
  /// - Complexity: O(*k* log *n*) for *k* changes; remembers no more than the units asked for.
  static func find(
    _ wanted: Set<Unit>, from old: ValueMap, to new: ValueMap
  ) throws(StoreError) -> [Key: Rename] {
    var ends: [Unit: Ends] = [:]
    guard !wanted.isEmpty else { return [:] }
    try ValueMap.diff(from: old, to: new) { note($0, in: &ends, among: wanted) }
    let found = ends.values.compactMap(rename)
    return Dictionary(found.map { ($0.old.key, $0) }) { $1 }
  }

  private static func note(
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
  /// Finds what was renamed from one map to another, in ascending order of the old key.
  ///
  /// - Complexity: O(*k* log *n*) for *k* changes; remembers those that insert or remove.
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
