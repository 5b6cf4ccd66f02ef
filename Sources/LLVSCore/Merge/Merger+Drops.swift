extension Merger {
  /// The revisions that a merge, made here or elsewhere, dropped (docs/merging.md, M11): of each key on which
  /// its predecessors clashed, what one has where the merge has the other's reference. A change that the merge
  /// holds under a new name is not dropped; what was dropped of a value made of both is in the metadata.
  package func drops(of merge: HistoryNode) throws(StoreError) -> [MergeDrop] {
    guard let firstNumber = merge.first, let secondNumber = merge.second else { return [] }
    let bases = try graph.commonAncestors(firstNumber, secondNumber)
    let first = try maps.valueMap(ofVersion: firstNumber)
    let second = try maps.valueMap(ofVersion: secondNumber)
    let base = try baseMap(bases.map(\.number), like: first)
    let merged = try maps.valueMap(ofVersion: merge.number)
    var dropped: [MergeDrop] = []
    var renamed: [PostponedClash] = []
    // A clash is a key that both sides changed: those that the first did not are none.
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
