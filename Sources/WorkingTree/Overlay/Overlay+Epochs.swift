extension Overlay {
  /// The epochs that pending changes are made on, and the current one.
  /// - Complexity: O(pending).
  package var epochsInUse: Set<Epoch> {
    var used: Set<Epoch> = [epoch]
    for change in changes.values { if let epoch = change.on { used.insert(epoch) } }
    for node in nodes.values {
      used.formUnion([node.on, node.file?.saved?.on, node.file?.counted?.on].compactMap(\.self))
      if case .detached(_, _, let epoch)? = node.orphan { used.insert(epoch) }
    }
    return used
  }
}
