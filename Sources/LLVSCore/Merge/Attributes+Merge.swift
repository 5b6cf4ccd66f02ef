extension Attributes {
  /// Merges field by field (docs/merging.md, M9): a field that one side changed is taken from it; where both
  /// changed it differently, mtime is the greater and any other is that of the newer side.
  ///
  /// The device number belongs to the bytes and is not merged here. `newer` is nil in a virtual base, where a field
  /// that both changed differently is absent.
  package static func merged(
    base: Attributes?, first: Attributes, second: Attributes, newer: MergeSide?
  ) -> Attributes {
    func field<T: Equatable>(_ path: (Attributes) -> T?) -> T? {
      pick(base.flatMap(path), path(first), path(second), newer)
    }
    var merged = Attributes()
    merged.mode = field(\.mode)
    merged.uid = field(\.uid)
    merged.gid = field(\.gid)
    merged.linkID = field(\.linkID)
    let (o, a, b) = (base?.mtime, first.mtime, second.mtime)
    merged.mtime = a == b || b == o ? a : a == o ? b : [a, b].compactMap(\.self).max()
    merged.extended = mergedExtended(base?.extended ?? [], first.extended, second.extended, newer)
    return merged
  }

  private static func pick<T: Equatable>(
    _ base: T?, _ first: T?, _ second: T?, _ newer: MergeSide?
  ) -> T? {
    if first == second || second == base { return first }
    if first == base { return second }
    return newer.flatMap { $0 == .first ? first : second }
  }

  private static func mergedExtended(
    _ base: [Extended], _ first: [Extended], _ second: [Extended], _ newer: MergeSide?
  ) -> [Extended] {
    if first == second { return first }
    func table(_ list: [Extended]) -> [[UInt8]: [UInt8]] {
      Dictionary(list.map { ($0.name, $0.value) }) { $1 }
    }
    let (o, a, b) = (table(base), table(first), table(second))
    var merged: [Extended] = []
    for name in Set(a.keys).union(b.keys) {
      guard let value = pick(o[name], a[name], b[name], newer) else { continue }
      merged.append(Extended(name: name, value: value))
    }
    return merged.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }
}

extension Entry {
  /// The attributes that an arbiter decides about together.
  struct Unit: Hashable {
    let kind: EntryKind
    let length: UInt64
    let digest: Digest
    let device: Attributes.Device?
  }

  var unit: Unit {
    Unit(kind: kind, length: stored.length, digest: stored.digest, device: attributes.device)
  }

  package func hasSameUnit(as other: Entry) -> Bool { unit == other.unit }
}
