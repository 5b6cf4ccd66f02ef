/// Computes which conflicts are open at a head: a function of the history alone, equal on every replica.
/// - Concurrency: any thread.
package struct ConflictFinder: Sendable {
  let merger: Merger
  let source: any ConflictSource

  private var graph: VersionGraph { merger.graph }

  private struct DropID: Hashable {
    let key: Key
    let version: VersionNumber
    let isRemoval: Bool

    init(_ drop: UnsettledDrop) {
      key = drop.key
      version = drop.version
      isRemoval = drop.isRemoval
    }
  }

  /// Returns the values that ancestors of a head dropped and none settled, in ascending order of (key, version).
  /// - Complexity: O(versions since an ancestor whose drops are known, what their merges differ in, open drops).
  package func unsettledDrops(
    at head: VersionNumber, knowing known: KnownDrops? = nil
  ) throws(StoreError) -> KnownDrops {
    if let known, known.head == head { return known }
    if let known {
      guard try graph.isAncestorOrSelf(known.head, of: head) else {
        return try unsettledDrops(at: head)
      }
    }
    let new = try versions(of: head, without: known?.head)
    var table: [DropID: UnsettledDrop] = [:]
    let touched = try keysTouched(by: new)
    for drop in known?.drops ?? [] {
      if let touched, !touched.contains(drop.key) {
        table[DropID(drop)] = drop
      } else if try !isSettled(drop, at: head, among: new) {
        table[DropID(drop)] = drop
      }
    }
    // In the order of history: the search for a merge's common ancestors continues that of the merge before.
    for merge in new.values.sorted(by: { $0.number < $1.number }) where merge.second != nil {
      for drop in try drops(of: merge) {
        let id = DropID(drop)
        if let old = table[id] {
          let before = try graph.node(old.merge)
          if HistoryNode.isOlder(merge, before) { table[id] = drop }
        } else if try !isSettled(drop, at: head, among: nil) {
          table[id] = drop
        }
      }
    }
    for drop in try reopened(by: new) where table[DropID(drop)] == nil {
      if try !isSettled(drop, at: head, among: nil) { table[DropID(drop)] = drop }
    }
    let drops = table.values.sorted {
      $0.key == $1.key
        ? ($0.version, $0.isRemoval ? 1 : 0) < ($1.version, $1.isRemoval ? 1 : 0) : $0.key < $1.key
    }
    return KnownDrops(head: head, drops: drops)
  }

  /// Up to this many versions, their touched keys are read; beyond that, the versions that touched each key.
  private static let fewVersions = 16

  /// The keys that authored versions among these touched; nil for more than ``fewVersions`` versions.
  private func keysTouched(
    by versions: [VersionNumber: HistoryNode]
  ) throws(StoreError) -> Set<Key>? {
    guard versions.count <= Self.fewVersions else { return nil }
    var keys: Set<Key> = []
    for node in versions.values where !node.isAutomatic {
      keys.formUnion(try source.keys(touchedBy: node.number))
    }
    return keys
  }

  /// The dropped revisions that versions among these open again, if the named merges dropped them.
  private func reopened(
    by versions: [VersionNumber: HistoryNode]
  ) throws(StoreError) -> [UnsettledDrop] {
    var found: [UnsettledDrop] = []
    for node in versions.values where !node.isAutomatic {
      for named in Version.reopenedDrops(try source.metadata(ofVersion: node.number)) {
        guard let number = try source.number(ofVersion: named.merge), number < node.number,
          let version = try source.number(ofVersion: named.version),
          try graph.isAncestorOrSelf(number, of: node.number)
        else { continue }
        let merge = try graph.node(number)
        guard merge.second != nil else { continue }
        found += try drops(of: merge).filter { $0.key == named.key && $0.version == version }
      }
    }
    return found
  }

  /// The head and those of its ancestors that `other`, one of them, does not have.
  private func versions(
    of head: VersionNumber, without other: VersionNumber?
  ) throws(StoreError) -> [VersionNumber: HistoryNode] {
    // In order of generation: a version comes after all its descendants.
    var isOld: [VersionNumber: Bool] = [:]
    var queue = PriorityQueue<HistoryNode> { $0.generation < $1.generation }
    var fresh = 0
    func mark(_ number: VersionNumber, old: Bool) throws(StoreError) {
      switch isOld[number] {
      case nil:
        isOld[number] = old
        if !old { fresh += 1 }
        queue.push(try graph.node(number))
      case false?:
        if old {
          isOld[number] = true
          fresh -= 1
        }
      case true?: break
      }
    }
    try mark(head, old: false)
    if let other { try mark(other, old: true) }
    var found: [VersionNumber: HistoryNode] = [:]
    while fresh > 0, let node = queue.pop() {
      let old = isOld[node.number] ?? false
      if !old {
        fresh -= 1
        found[node.number] = node
      }
      try node.forEachPredecessor { number throws(StoreError) in try mark(number, old: old) }
    }
    return found
  }

  private func drops(of merge: HistoryNode) throws(StoreError) -> [UnsettledDrop] {
    var all = try merger.drops(of: merge)
    for (side, key) in Version.droppedKeys(try source.metadata(ofVersion: merge.number)) {
      let entry = try map(side, of: merge)?.entry(at: key)
      let other = entry == nil ? try map(side.other, of: merge)?.entry(at: key) : entry
      // Removing nothing is no drop.
      guard other != nil else { continue }
      all.append(MergeDrop(key: key, side: side, entry: entry, isPartial: true))
    }
    var drops: [UnsettledDrop] = []
    for drop in all {
      guard let number = predecessor(drop.side, of: merge) else { continue }
      let version =
        if let entry = drop.entry { entry.storedVersion } else {
          try versionRemoving(drop.key, of: number)
        }
      drops.append(
        UnsettledDrop(
          key: drop.key, isRemoval: drop.entry == nil, version: version, merge: merge.number,
          side: drop.side))
    }
    return drops
  }

  private func predecessor(_ side: MergeSide, of merge: HistoryNode) -> VersionNumber? {
    side == .first ? merge.first : merge.second
  }

  private func map(_ side: MergeSide, of merge: HistoryNode) throws(StoreError) -> ValueMap? {
    guard let number = predecessor(side, of: merge) else { return nil }
    return try merger.maps.valueMap(ofVersion: number)
  }

  /// The version that removed the key: the last on the way back from `number` through versions that lack it.
  func versionRemoving(_ key: Key, of number: VersionNumber) throws(StoreError) -> VersionNumber {
    var current = number
    while true {
      let node = try graph.node(current)
      var next: VersionNumber?
      for predecessor in [node.first, node.second].compactMap(\.self) where next == nil {
        let map = try merger.maps.valueMap(ofVersion: predecessor)
        if try map.entry(at: key) == nil { next = predecessor }
      }
      guard let next else { return current }
      current = next
    }
  }

  /// True if an authored ancestor of the head (in `new`, unless nil) wrote, removed or settled the key and knew the
  /// revision.
  private func isSettled(
    _ drop: UnsettledDrop, at head: VersionNumber, among new: [VersionNumber: HistoryNode]?
  ) throws(StoreError) -> Bool {
    if let new, new.isEmpty { return false }
    let candidates = try source.versions(touching: drop.key, upTo: head)
    var reopening: [VersionNumber] = []
    for number in candidates.reversed() where drop.version < number {
      if try opensAgain(number, drop), try graph.isAncestorOrSelf(number, of: head) {
        reopening.append(number)
        continue
      }
      if let new, new[number] == nil { continue }
      let node = try graph.node(number)
      guard !node.isAutomatic, try graph.isAncestorOrSelf(drop.version, of: number) else {
        continue
      }
      if new == nil, try !graph.isAncestorOrSelf(number, of: head) { continue }
      guard try touches(node, drop) else { continue }
      // A settling is void if a version made from its version takes it back.
      var isTakenBack = false
      for later in reopening where !isTakenBack {
        isTakenBack = try graph.isAncestorOrSelf(number, of: later)
      }
      if !isTakenBack { return true }
    }
    return false
  }

  private func opensAgain(
    _ number: VersionNumber, _ drop: UnsettledDrop
  ) throws(StoreError) -> Bool {
    let named = Version.reopenedDrops(try source.metadata(ofVersion: number))
    for other in named where other.key == drop.key {
      if try source.number(ofVersion: other.version) == drop.version { return true }
    }
    return false
  }

  private func touches(_ node: HistoryNode, _ drop: UnsettledDrop) throws(StoreError) -> Bool {
    let metadata = try source.metadata(ofVersion: node.number)
    if node.second != nil {
      // A merge settles nothing that it dropped itself.
      for (side, key) in Version.droppedKeys(metadata) where key == drop.key {
        let entry = try map(side, of: node)?.entry(at: key)
        if (entry == nil) == drop.isRemoval, entry?.storedVersion ?? drop.version == drop.version {
          return false
        }
      }
    }
    if Version.settledKeys(metadata).contains(drop.key) { return true }
    if try isOfDatabase(drop) { return false }
    let held = try merger.maps.valueMap(ofVersion: node.number).entry(at: drop.key)
    if let held { return held.storedVersion == node.number }
    // Removed here: a merge removes only what one side has removed.
    for side in [MergeSide.first, .second] {
      guard let map = try map(side, of: node) else { continue }
      if try map.entry(at: drop.key) == nil { return false }
    }
    return true
  }

  /// True if a side of the merge had a database or a companion of one: programs write it without knowledge of the
  /// other side.
  private func isOfDatabase(_ drop: UnsettledDrop) throws(StoreError) -> Bool {
    let merge = try graph.node(drop.merge)
    for side in [MergeSide.first, .second] {
      guard let map = try map(side, of: merge) else { continue }
      let entry = try map.entry(at: drop.key)
      if let entry, try source.isDatabase(entry.stored) { return true }
      for companion in FileGroup(around: drop.key).members.dropFirst() {
        if try map.entry(at: companion) != nil { return true }
      }
    }
    return false
  }

  /// The wanted open conflicts among unsettled drops, in ascending order of keys.
  package func conflicts(
    _ known: KnownDrops, where isWanted: (Key) -> Bool = { _ in true }
  ) throws(StoreError) -> [ValueConflict] {
    let held = try merger.maps.valueMap(ofVersion: known.head)
    var conflicts: [ValueConflict] = []
    var rest = known.drops[...]
    while let key = rest.first?.key {
      let group = rest.prefix { $0.key == key }
      rest = rest.dropFirst(group.count)
      guard isWanted(key) else { continue }
      let ours = try held.entry(at: key)
      if let conflict = try conflict(key, Array(group), ours: ours, at: known.head) {
        conflicts.append(conflict)
      }
    }
    return conflicts
  }

  /// The keys of the open conflicts among unsettled drops, ascending.
  package func keys(_ known: KnownDrops) throws(StoreError) -> [Key] {
    let held = try merger.maps.valueMap(ofVersion: known.head)
    var keys: [Key] = []
    for drop in known.drops where keys.last != drop.key {
      let ours = try held.entry(at: drop.key)
      let merge = try graph.node(drop.merge)
      let entry = drop.isRemoval ? nil : try map(drop.side, of: merge)?.entry(at: drop.key)
      if !isSame(entry, ours) { keys.append(drop.key) }
    }
    return keys
  }

  private func conflict(
    _ key: Key, _ drops: [UnsettledDrop], ours: Entry?, at head: VersionNumber
  ) throws(StoreError) -> ValueConflict? {
    var theirs: [ValueConflict.Revision] = []
    var oldest: HistoryNode?
    for drop in drops {
      let merge = try graph.node(drop.merge)
      let entry = drop.isRemoval ? nil : try map(drop.side, of: merge)?.entry(at: key)
      guard !isSame(entry, ours) else { continue }
      let version = try graph.node(drop.version)
      theirs.append(
        ValueConflict.Revision(
          version: version, entry: entry,
          maker: try entry.map { (entry) throws(StoreError) in try maker(of: entry) }))
      if oldest.map({ HistoryNode.isOlder(merge, $0) }) ?? true { oldest = merge }
    }
    guard let oldest, let first = oldest.first, let second = oldest.second else { return nil }
    theirs.sort { HistoryNode.isOlder($1.version, $0.version) }
    // Equal bytes that several versions stored are shown once.
    var shown: [ValueConflict.Revision] = []
    for revision in theirs where !shown.contains(where: { isSame($0.entry, revision.entry) }) {
      shown.append(revision)
    }
    let bases = try graph.commonAncestors(first, second)
    let base = try merger.baseMap(bases.map(\.number), of: first, second).entry(at: key)
    let kept =
      if let ours { try maker(of: ours) } else {
        try graph.node(try versionRemoving(key, of: head))
      }
    return ValueConflict(key: key, base: base, ours: ours, kept: kept, theirs: shown)
  }

  /// The version that made what an entry holds; of what merges made of both sides, that of the newer one.
  func maker(of entry: Entry) throws(StoreError) -> HistoryNode {
    var node = try graph.node(entry.storedVersion)
    while node.second != nil {
      var newest: HistoryNode?
      for side in [MergeSide.first, .second] {
        guard let held = try map(side, of: node)?.entry(at: entry.key) else { continue }
        let stored = try graph.node(held.storedVersion)
        if newest.map({ HistoryNode.isOlder($0, stored) }) ?? true { newest = stored }
      }
      guard let newest, newest.number < node.number else { break }
      node = newest
    }
    return node
  }

  private func isSame(_ a: Entry?, _ b: Entry?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    return a.storedVersion == b.storedVersion || a.hasSameUnit(as: b)
  }
}
