package import Inodes

extension SharedMap {
  /// Calls `body` with the keys in buckets not shared with `old`, a copy, and with their values, which may be
  /// equal.
  /// - Complexity: O(*k*) for *k* changes since the copy, and a step for each of the *n*/384 groups.
  func forEachDifference(
    from old: Self, _ body: (_ key: Key, _ old: Value?, _ new: Value?) -> Void
  ) {
    // A shared bucket has the same elements in both maps, and no other bucket has their keys.
    forEachSlot(besides: old) { slot in
      if let value = slot.value { body(slot.key, old[slot.key], value) }
    }
    old.forEachSlot(besides: self) { slot in
      if let value = slot.value, !contains(slot.key) { body(slot.key, value, nil) }
    }
  }

  private func forEachSlot(besides other: Self, _ body: (Slot) -> Void) {
    for (index, group) in groups.enumerated() {
      let others = index < other.groups.count ? other.groups[index] : []
      if group.isShared(with: others) { continue }
      for (index, bucket) in group.enumerated() {
        if index < others.count, bucket.isShared(with: others[index]) { continue }
        for slot in bucket { body(slot) }
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
  package typealias Difference = (number: InodeNumber, old: PendingNode?, new: PendingNode?)

  /// `old` is a map that this one is a copy of.
  /// - Complexity: as ``SharedMap/forEachDifference(from:_:)``.
  package func differences(from old: NodeMap) -> [Difference] {
    var differences: [Difference] = []
    holders.forEachDifference(from: old.holders) { number, old, new in
      guard old !== new, old?.node != new?.node else { return }
      differences.append((number, old?.node, new?.node))
    }
    return differences
  }
}

extension ChangeMap {
  package typealias Difference = (place: InodeName, old: NameChange?, new: NameChange?)

  /// `old` is a map that this one is a copy of.
  /// - Complexity: as ``SharedMap/forEachDifference(from:_:)``.
  package func differences(from old: ChangeMap) -> [Difference] {
    var differences: [Difference] = []
    directories.forEachDifference(from: old.directories) { directory, old, new in
      (new ?? Names()).forEachDifference(from: old ?? Names()) { name, old, new in
        guard old != new else { return }
        differences.append((InodeName(directory: directory, name: name), old, new))
      }
    }
    return differences
  }
}
