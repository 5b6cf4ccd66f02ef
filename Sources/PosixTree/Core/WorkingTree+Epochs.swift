import PendingTree

// Epochs that nobody asks for any more.

extension WorkingTree {
  /// Forgets the versions of epochs in which nothing pending was made and that no program has seen.
  ///
  /// - Complexity: O(*p*) for *p* pending changes, without a lock; O(open files) with it.
  func forgetEpochs() {
    let (overlay, frozen, known, seen) = atRest { state in
      (state.overlay, state.frozen, state.epochs, state.oldestSeen)
    }
    guard known.count > 1 else { return }
    var needed = overlay.epochsInUse
    if let frozen { needed.formUnion(frozen.epochsInUse) }
    // An epoch that nothing was made in and that nobody remembers does not come up again.
    let forgotten = known.keys.filter { !needed.contains($0) && $0 < seen }
    guard !forgotten.isEmpty else { return }
    state { state in
      for epoch in forgotten { state.epochs[epoch] = nil }
    }
  }
}

extension TreeState {
  /// The oldest epoch that an open file or a process is remembered with; the present one if none is older.
  fileprivate var oldestSeen: Epoch {
    [handles.oldestEpoch, writers.oldestEpoch].compactMap(\.self).reduce(overlay.epoch, min)
  }
}
