// The table of epochs, which has those that something is made on, and the current one.

extension TreeState {
  /// Forgets the versions of epochs that nothing refers to, if there are more than `limit` epochs.
  ///
  /// - Complexity: O(*p*) for *p* pending changes and processes that are behind.
  mutating func forgetEpochs(ifMoreThan limit: Int) {
    guard epochs.count > limit else { return }
    writers.tidy()
    var needed = overlay.epochsInUse.union(writers.epochs)
    if let frozen { needed.formUnion(frozen.epochsInUse) }
    epochs = epochs.filter { needed.contains($0.key) }
    epochLimit = max(Self.leastEpochLimit, 2 * epochs.count)
  }
}
