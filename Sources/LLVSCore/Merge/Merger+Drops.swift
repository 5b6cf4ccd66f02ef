extension Merger {
  /// The revisions that a merge, made here or elsewhere, dropped (docs/merging.md, M11). If its predecessors
  /// clashed at a key and the merge has the reference of one, the other's revision was dropped. A change that the
  /// merge holds under a new name is not dropped; the metadata lists partial drops.
  package func drops(of merge: HistoryNode) throws(StoreError) -> [MergeDrop] {
    guard let firstNumber = merge.first, let secondNumber = merge.second else { return [] }
    let bases = try graph.commonAncestors(firstNumber, secondNumber)
    let first = try maps.valueMap(ofVersion: firstNumber)
    let second = try maps.valueMap(ofVersion: secondNumber)
    let base = try baseMap(bases.map(\.number), like: first)
    let merged = try maps.valueMap(ofVersion: merge.number)
    var dropped: [MergeDrop] = []
    var renamed: [PostponedClash] = []
    // A clash is a key that both sides changed: keys that the first did not change are no clashes.
    var diff = try MapDiff(from: base, to: first)
    while let change = try diff.next() {
      guard !change.isDirectory else { continue }
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
    let kept = try followed(renamed, base: base, first: first, second: second, merged: merged)
    return kept.isEmpty ? dropped : dropped.filter { !kept.contains($0.key) }
  }

  private func isSame(_ a: Entry?, _ b: Entry?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    return a.storedVersion == b.storedVersion
  }
}
