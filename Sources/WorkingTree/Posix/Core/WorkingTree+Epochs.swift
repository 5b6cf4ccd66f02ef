extension TreeState {
  /// Forgets the versions of unused epochs beyond `limit` epochs, in O(*p*) for *p* pending changes and processes
  /// behind.
  mutating func forgetEpochs(ifMoreThan limit: Int) {
    guard epochs.count > limit else { return }
    writers.tidy()
    var needed = overlay.epochsInUse.union(writers.epochs)
    if let frozen { needed.formUnion(frozen.epochsInUse) }
    epochs = epochs.filter { needed.contains($0.key) }
    epochLimit = max(Self.leastEpochLimit, 2 * epochs.count)
  }
}
