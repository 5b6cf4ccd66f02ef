extension Overlay {
  /// The epochs that anything pending was made in, with the current one.
  ///
  /// - Complexity: O(pending).
  package var epochsInUse: Set<Epoch> {
    var used: Set<Epoch> = [epoch]
    for change in changes.values {
      used.formUnion([change.made, change.under, change.seen].compactMap(\.self))
    }
    for node in nodes.values {
      used.formUnion(
        [node.seen, node.file?.saved?.seen, node.file?.counted?.seen].compactMap(\.self))
      if case .detached(_, _, let epoch)? = node.orphan { used.insert(epoch) }
    }
    return used
  }
}
