/// One key at which two maps differ.
package struct MapChange: Hashable, Sendable {
  package var old: Entry?
  package var new: Entry?

  package init(old: Entry?, new: Entry?) {
    self.old = old
    self.new = new
  }

  package var key: Key { (new ?? old)?.key ?? Key(bytes: []) }
  package var isDirectory: Bool { (new ?? old)?.isDirectory ?? false }
}

/// The items of one key at which two maps differ; entries are made only when needed, because it is slow.
struct MapPosition {
  struct Item {
    let node: MapNode
    let index: Int

    func entry() throws(StoreError) -> Entry { try ValueMap.entry(index, of: node) }

    func hasSameBytes(as other: Item) -> Bool {
      node.hasSameBytes(index, as: other.node, other.index)
    }
  }

  /// At least one of the two is not nil.
  let old: Item?
  let new: Item?

  var isDirectory: Bool {
    guard let item = new ?? old else { return false }
    return item.node.isDirectory(item.index)
  }

  var key: Key {
    guard let item = new ?? old else { return Key(bytes: []) }
    return Key(bytes: item.node.key(item.index))
  }

  /// Compares the keys: by bytes, then a directory after a value.
  func compare(to other: MapPosition) -> Int {
    guard let item = new ?? old, let otherItem = other.new ?? other.old else { return 0 }
    return item.node.compare(item.index, to: otherItem.node, otherItem.index)
  }
}

/// The changes from one map to another, in ascending order; it reads only nodes that differ.
/// - Concurrency: a value for one thread at a time.
/// - Complexity: O(*k* log *n*) for *k* changes.
package struct MapDiff {
  /// The differences that count as a change.
  package enum Comparison: Sendable {
    /// Any difference, also in fields that are local to the store, such as location and revision.
    case everything
    /// A difference in what digest 1 covers: kind, bytes, attributes.
    case content
  }

  private var old: MapWalk
  private var new: MapWalk
  private let comparison: Comparison
  private let upper: [UInt8]?

  /// Begins a diff of two maps of one store, of all keys or of those that begin with `prefix`.
  package init(
    from old: ValueMap, to new: ValueMap, prefix: [UInt8] = [],
    comparing comparison: Comparison = .everything
  ) throws(StoreError) {
    self.comparison = comparison
    upper = prefix.successor
    let same =
      old.root.location == new.root.location
      || (comparison == .content && old.root.digest == new.root.digest)
    // Two empty walks have no changes.
    self.old = try MapWalk(same ? ValueMap(emptyIn: old.storage, cache: old.cache) : old)
    self.new = try MapWalk(same ? ValueMap(emptyIn: new.storage, cache: new.cache) : new)
    if !prefix.isEmpty {
      try self.old.seekForward(to: prefix, false)
      try self.new.seekForward(to: prefix, false)
    }
  }

  package mutating func next() throws(StoreError) -> MapChange? {
    guard let place = try nextPlace() else { return nil }
    return MapChange(old: try place.old?.entry(), new: try place.new?.entry())
  }

  mutating func nextPlace() throws(StoreError) -> MapPosition? {
    while true {
      switch (isDone(old), isDone(new)) {
      case (true, true): return nil
      case (false, true):
        while old.level > 0 { try old.descend() }
        if !isDone(old) { return takeOld() }
      case (true, false):
        while new.level > 0 { try new.descend() }
        if !isDone(new) { return takeNew() }
      case (false, false): if let place = try step() { return place }
      }
    }
  }

  private func isDone(_ walk: MapWalk) -> Bool {
    guard !walk.isAtEnd else { return true }
    guard let upper else { return false }
    if walk.level == 0 { return walk.node.compare(walk.index, to: upper, false) >= 0 }
    // All keys of a subtree are after the last key of the subtree before it.
    return walk.index > 0 && walk.node.compare(walk.index - 1, to: upper, false) >= 0
  }

  private mutating func step() throws(StoreError) -> MapPosition? {
    if old.level != new.level {
      if old.level > new.level { try old.descend() } else { try new.descend() }
      return nil
    }
    if old.level > 0 {
      let (a, b) = (old.node.child(old.index), new.node.child(new.index))
      if a.location == b.location || (comparison == .content && a.digest == b.digest) {
        old.advance()
        new.advance()
      } else {
        try old.descend()
        try new.descend()
      }
      return nil
    }
    // Two leaves that differ usually have all but one or two items in common.
    let same = old.node.equalItems(from: old.index, as: new.node, from: new.index)
    guard same == 0 else {
      old.advance(by: same)
      new.advance(by: same)
      return nil
    }
    let order = old.node.compare(old.index, to: new.node, new.index)
    if order < 0 { return takeOld() }
    if order > 0 { return takeNew() }
    defer {
      old.advance()
      new.advance()
    }
    if isSame() { return nil }
    return MapPosition(old: old.item, new: new.item)
  }

  private func isSame() -> Bool {
    switch comparison {
    case .everything:
      old.node.withItem(old.index) { a in
        new.node.withItem(new.index) { b in a.compare(to: b) == 0 }
      }
    case .content: old.node.hasSameContent(old.index, as: new.node, new.index)
    }
  }

  private mutating func takeOld() -> MapPosition {
    defer { old.advance() }
    return MapPosition(old: old.item, new: nil)
  }

  private mutating func takeNew() -> MapPosition {
    defer { new.advance() }
    return MapPosition(old: nil, new: new.item)
  }
}

extension MapWalk {
  fileprivate var item: MapPosition.Item { MapPosition.Item(node: node, index: index) }
}

extension ValueMap {
  package static func diff(
    from old: ValueMap, to new: ValueMap, prefix: [UInt8] = [],
    comparing comparison: MapDiff.Comparison = .everything,
    visit: (MapChange) throws(StoreError) -> Void
  ) throws(StoreError) {
    var diff = try MapDiff(from: old, to: new, prefix: prefix, comparing: comparison)
    while let change = try diff.next() { try visit(change) }
  }
}
