internal import Platform

/// Finds the records that only forgotten versions need, by subtraction: the candidates are what forgotten versions
/// refer to, and everything that a root refers to is removed from them. A record that no rule thought of is never a
/// candidate.
///
/// Both sides include the records that patches rest on. A node of a value, and a patch, are behind the records that
/// they refer to. So if there are too many candidates for the memory, those of the first segments are decided first,
/// and what leads to them can still be read at the next sweep.
struct Sweep {
  /// The most candidates that are kept at once.
  private let limit: Int
  private let store: Store
  /// The lengths of the candidates.
  private var candidates: [UInt64: UInt32] = [:]
  /// The first segment that this sweep is for.
  private let first: UInt32
  /// The first segment that was left for the next sweep; nil if none was.
  private(set) var rest: UInt32?
  /// Nodes of maps of roots, and all nodes and values below them.
  private var marked = RecentPlaces()
  private var collected = RecentPlaces()
  private var kept = RecentPlaces()
  private let isCancelled: () -> Bool
  private var steps = 0

  init(of store: Store, from first: UInt32, limit: Int, isCancelled: @escaping () -> Bool) {
    self.store = store
    self.first = first
    self.limit = limit
    self.isCancelled = isCancelled
  }

  /// Called for each node and record that is read.
  private mutating func noteRead() throws(StoreError) {
    steps += 1
    if steps % 256 == 0, isCancelled() { throw .cancelled }
  }

  var isEmpty: Bool { candidates.isEmpty }
  var bytes: UInt64 { candidates.values.reduce(0) { $0 + UInt64($1) } }

  /// The candidates as ranges of each segment, joined with those that are gone already.
  func gone() throws(StoreError) -> [UInt32: GoneRanges] {
    var found: [UInt32: [Range<UInt64>]] = [:]
    for (key, length) in candidates {
      let offset = key & (1 << 40 - 1)
      found[UInt32(key >> 40), default: []].append(offset..<(offset + UInt64(length)))
    }
    var gone: [UInt32: GoneRanges] = [:]
    for (segment, ranges) in found {
      guard var all = try store.records.gone?.ranges(in: segment) else { continue }
      all.formUnion(ranges)
      gone[segment] = all
    }
    return gone
  }

  /// Returns the space of the disk that comes free with the candidates.
  func freeable() throws(StoreError) -> UInt64 {
    var bytes: UInt64 = 0
    for (segment, all) in try gone() {
      let before = try store.records.gone?.ranges(in: segment) ?? GoneRanges()
      do throws(StoreError) {
        bytes += try store.records.freeable(all, after: before, in: segment)
      } catch {
        // Freeing passes over a damaged segment, too.
        guard error.isDamage else { throw error }
      }
    }
    return bytes
  }

  // MARK: Maps

  private enum Step { case mark, collect, keep }

  /// Marks the nodes of a root's map, so that no candidate is searched below them. To be called for all roots first.
  mutating func mark(_ map: MapRoot) throws(StoreError) {
    if let top = map.location { try visit(top, .mark) }
  }

  /// Adds what a forgotten version refers to. Damage hides candidates, which then stay.
  mutating func collect(_ map: MapRoot) throws(StoreError) {
    guard let top = map.location else { return }
    try ignoringLoss { (sweep) throws(StoreError) in try sweep.visit(top, .collect) }
  }

  /// Removes what a root refers to.
  /// - Throws: ``StoreError/corrupt(_:)`` if damage hides what it refers to: then nothing may be forgotten.
  mutating func keep(_ map: MapRoot) throws(StoreError) {
    if let top = map.location { try visit(top, .keep) }
  }

  private mutating func visit(_ place: Location, _ step: Step) throws(StoreError) {
    switch step {
    case .mark: guard marked.insert(place) else { return }
    case .collect: guard !marked.contains(place), collected.insert(place) else { return }
    case .keep: guard kept.insert(place) else { return }
    }
    try noteRead()
    guard let node = MapNode(checking: try store.records.readNode(at: place)) else {
      throw store.records.damage(place, "is not a node of a map")
    }
    for index in 0..<node.count {
      if node.level > 0 {
        let child = node.child(index).location
        // Marking a leaf does not need its entries.
        if step == .mark, node.level == 1 {
          _ = marked.insert(child)
        } else {
          try visit(child, step)
        }
        continue
      }
      guard step != .mark else { return }
      guard let (content, length) = node.place(index) else {
        throw store.records.damage(place, "has an entry without a place")
      }
      if step == .collect {
        try collect(content, length)
      } else {
        try keep(content, length)
      }
    }
  }

  private mutating func ignoringLoss(
    _ body: (inout Self) throws(StoreError) -> Void
  ) throws(StoreError) {
    do throws(StoreError) {
      try body(&self)
    } catch {
      if error.isForgotten { return }
      guard error.isDamage else { throw error }
    }
  }

  // MARK: Values

  mutating func keep(_ stored: StoredContent) throws(StoreError) {
    try keep(stored.content, stored.length)
  }

  private mutating func keep(_ content: Content, _ length: UInt64) throws(StoreError) {
    switch content {
    case .none, .inline: break
    case .chunk(let place): try keep(place, .chunk, length)
    case .tree(let place): try keep(place, .valueNode, nil)
    }
  }

  /// `length` is that of a chunk.
  private mutating func keep(
    _ place: Location, _ kind: RecordKind, _ length: UInt64?
  ) throws(StoreError) {
    guard kept.insert(place) else { return }
    try noteRead()
    candidates[place.key] = nil
    do throws(StoreError) {
      for base in try store.records.bases(of: place, kind, length) { candidates[base.key] = nil }
      guard kind == .valueNode else { return }
      for item in try store.records.items(below: place) {
        guard let location = item.location else { continue }
        try keep(location, item.kind == .chunk ? .chunk : .valueNode, item.length)
      }
    } catch {
      // A version that came from a peer may refer to bytes that were forgotten here.
      guard error.isForgotten else { throw error }
    }
  }

  private mutating func collect(_ content: Content, _ length: UInt64) throws(StoreError) {
    switch content {
    case .none, .inline: break
    case .chunk(let place): try collect(place, .chunk, length)
    case .tree(let place): try collect(place, .valueNode, nil)
    }
  }

  private mutating func collect(
    _ place: Location, _ kind: RecordKind, _ length: UInt64?
  ) throws(StoreError) {
    guard collected.insert(place), store.records.gone?.mayUse(place) ?? false else { return }
    try noteRead()
    add(place)
    try ignoringLoss { (sweep) throws(StoreError) in
      for base in try sweep.store.records.bases(of: place, kind, length) {
        if sweep.collected.insert(base), sweep.store.records.gone?.mayUse(base) ?? false {
          sweep.add(base)
        }
      }
      guard kind == .valueNode else { return }
      for item in try sweep.store.records.items(below: place) {
        guard let location = item.location else { continue }
        try sweep.collect(location, item.kind == .chunk ? .chunk : .valueNode, item.length)
      }
    }
  }

  // MARK: Where the bytes are

  /// Removes the candidates of a value, and returns their bytes.
  mutating func take(_ stored: StoredContent) throws(StoreError) -> UInt64 {
    switch stored.content {
    case .none, .inline: 0
    case .chunk(let place): try take(place, .chunk, stored.length)
    case .tree(let place): try take(place, .valueNode, nil)
    }
  }

  private mutating func take(
    _ place: Location, _ kind: RecordKind, _ length: UInt64?
  ) throws(StoreError) -> UInt64 {
    guard let own = candidates.removeValue(forKey: place.key) else { return 0 }
    try noteRead()
    var bytes = UInt64(own)
    try ignoringLoss { (sweep) throws(StoreError) in
      for base in try sweep.store.records.bases(of: place, kind, length) {
        bytes += UInt64(sweep.candidates.removeValue(forKey: base.key) ?? 0)
      }
      guard kind == .valueNode else { return }
      for item in try sweep.store.records.items(below: place) {
        guard let location = item.location else { continue }
        bytes += try sweep.take(location, item.kind == .chunk ? .chunk : .valueNode, item.length)
      }
    }
    return bytes
  }

  private mutating func add(_ place: Location) {
    guard place.segment >= first, place.segment < rest ?? .max else { return }
    candidates[place.key] = place.length
    if candidates.count > limit { leaveRest() }
  }

  /// Leaves the candidates in the last segments for the next sweep.
  private mutating func leaveRest() {
    var counts: [UInt32: Int] = [:]
    for key in candidates.keys { counts[UInt32(key >> 40), default: 0] += 1 }
    guard let last = counts.keys.max(), let first = counts.keys.min(), first < last else { return }
    let middle = first + (last - first + 1) / 2
    rest = middle
    candidates = candidates.filter { UInt32($0.key >> 40) < middle }
  }
}

extension RecordStore {
  /// Returns the whole records that a record is a patch of; `length` is that of a chunk.
  func bases(
    of place: Location, _ kind: RecordKind, _ length: UInt64?
  ) throws(StoreError) -> [Location] {
    // The fields of a record tell only after a read, and a patch is known to be short.
    if let length, !RecordStore.mayBePatch(place, ofChunk: length) { return [] }
    return try bases(ofRecordAt: place, kind)
  }

  func items(below place: Location) throws(StoreError) -> [ValueNode.Item] {
    guard let node = ValueNode(bytes: try read(.valueNode, at: place)) else {
      throw damage(place, "is not a node of a value")
    }
    return node.items
  }
}
