import Inodes

extension SharedMap {
  /// Calls `body` with the keys in buckets not shared with `old`, a copy, and with their values, which may be
  /// equal.
  /// - Complexity: O(*k*) for *k* changes since the copy, and a step for each of the *n*/384 groups.
  func forEachDifference<E>(
    from old: Self, _ body: (_ key: Key, _ old: Value?, _ new: Value?) throws(E) -> Void
  ) throws(E) {
    // A shared bucket has the same elements in both maps, and no other bucket has their keys.
    try forEachSlot(besides: old) { slot throws(E) in
      if let value = slot.value { try body(slot.key, old[slot.key], value) }
    }
    try old.forEachSlot(besides: self) { slot throws(E) in
      if let value = slot.value, !contains(slot.key) { try body(slot.key, value, nil) }
    }
  }

  private func forEachSlot<E>(
    besides other: Self, _ body: (Slot) throws(E) -> Void
  ) throws(E) {
    for (index, group) in groups.enumerated() {
      let others = index < other.groups.count ? other.groups[index] : []
      if group.isShared(with: others) { continue }
      for (index, bucket) in group.enumerated() {
        if index < others.count, bucket.isShared(with: others[index]) { continue }
        for slot in bucket { try body(slot) }
      }
    }
  }
}

extension ContiguousArray {
  /// True if two arrays are unchanged copies.
  fileprivate func isShared(with other: Self) -> Bool {
    guard count == other.count else { return false }
    return withUnsafeBufferPointer { a in
      other.withUnsafeBufferPointer { b in a.baseAddress == b.baseAddress }
    }
  }
}

extension NodeMap {
  /// Calls `body` with the nodes that differ from `old`, a map that this one is a copy of.
  /// - Complexity: as ``SharedMap/forEachDifference(from:_:)``.
  func forEachDifference<E>(
    from old: NodeMap,
    _ body: (_ number: InodeNumber, _ old: PendingNode?, _ new: PendingNode?) throws(E) -> Void
  ) throws(E) {
    try holders.forEachDifference(from: old.holders) { number, old, new throws(E) in
      guard old !== new, old?.node != new?.node else { return }
      try body(number, old?.node, new?.node)
    }
  }
}

extension ChangeMap {
  /// Calls `body` with the changes that differ from `old`, a map that this one is a copy of.
  /// - Complexity: as ``SharedMap/forEachDifference(from:_:)``.
  func forEachDifference<E>(
    from old: ChangeMap,
    _ body: (_ place: InodeName, _ old: NameChange?, _ new: NameChange?) throws(E) -> Void
  ) throws(E) {
    try directories.forEachDifference(from: old.directories) { directory, old, new throws(E) in
      try (new ?? Names()).forEachDifference(from: old ?? Names()) { name, old, new throws(E) in
        guard old != new else { return }
        try body(InodeName(directory: directory, name: name), old, new)
      }
    }
  }
}
