/// The merge of two maps over a base, key by key, by walking only what differs.
/// - Complexity: O(*k* log *n*) for *k* keys at which a side differs from the base.
struct MapMerge {
  /// The rule that decides where both sides changed.
  enum Rule {
    /// A virtual base: a key on which they clash is absent.
    case withoutArbiter
    case arbiter(any ClashArbiter)
    /// A merge made elsewhere: its change list decides; at other keys the first side's value stays.
    case recorded([Key: RecordedMergeChange])
  }

  let base: ValueMap
  /// What a virtual base was merged from; nil for one base.
  var bases: MergeBases?
  let first: ValueMap
  let second: ValueMap
  let firstVersion: HistoryNode
  let secondVersion: HistoryNode
  let rule: Rule
  let graph: VersionGraph
  /// The merge's own number: it stores what an arbiter makes.
  let number: VersionNumber
  /// The rules for keys of documents; nil for none.
  let documents: DocumentMerge?
  /// Returns the number of a revision that neither side has.
  let allotRevision: () throws(StoreError) -> UInt64
  let write: ([UInt8]) throws(StoreError) -> StoredContent

  /// True if ``rule`` is a record, which also decides where one side only changed.
  private var followsRecord: Bool { if case .recorded = rule { true } else { false } }
  var edits: [MapEdit] = []
  var changes: [MergeChange] = []
  var dropped: [MergeDrop] = []
  /// The keys that are absent in a virtual base.
  var clashes: [Key] = []
  /// Values that one side changed and the other removed, or perhaps renamed: decided last.
  var postponed: [PostponedClash] = []
  /// The keys whose change is under the name that the other side gave.
  var followed: Set<Key> = []
  /// The groups with a companion that a side changed. They are decided last.
  var groups: Set<FileGroup> = []
  /// Directories that one side removed, in ascending order: they stay where something was added below.
  var contested: [(entry: Entry, side: MergeSide)] = []

  /// Nil in a virtual base.
  var newer: MergeSide? {
    if case .withoutArbiter = rule { return nil }
    return HistoryNode.mergesBefore(firstVersion, secondVersion) ? .second : .first
  }

  /// Merges and returns the map; its new nodes are stored like those of `first`.
  mutating func run() throws(StoreError) -> ValueMap {
    var toFirst = try MapDiff(from: base, to: first)
    var toSecond = try MapDiff(from: base, to: second)
    var a = try toFirst.nextPlace()
    var b = try toSecond.nextPlace()
    var recorded: ArraySlice<Key> = []
    if case .recorded(let changes) = rule { recorded = changes.keys.sorted()[...] }
    while true {
      let order = MapMerge.order(a, b)
      let next = order <= 0 ? a : b
      // A merge made elsewhere may change equal values.
      if let key = recorded.first,
        next.map({ key < $0.key || (key == $0.key && $0.isDirectory) }) ?? true
      {
        recorded.removeFirst()
        let entry = try first.entry(at: key)
        try mergeValue(key, MergeTriple(base: entry, first: entry, second: entry))
        continue
      }
      guard let next else { break }
      if let key = recorded.first, key == next.key { recorded.removeFirst() }
      if mayRename, !next.isDirectory, let group = FileGroup(companion: next.key) {
        groups.insert(group)
      }
      if order < 0, staysAsInFirst(next) {
        a = try toFirst.nextPlace()
        continue
      }
      // If only one side differs from the base, the other equals the base.
      let old = try next.old?.entry()
      let new = try next.new?.entry()
      let other = order == 0 ? try b?.new?.entry() : old
      try mergeDifference(
        next,
        order <= 0
          ? MergeTriple(base: old, first: new, second: other)
          : MergeTriple(base: old, first: old, second: new))
      if order <= 0 { a = try toFirst.nextPlace() }
      if order >= 0 { b = try toSecond.nextPlace() }
    }
    try decidePostponed()
    try decideGroups()
    return try settleDirectories()
  }

  /// The order of two changes: negative if the first comes first, positive if the second does, zero for equal keys.
  private static func order(_ a: MapPosition?, _ b: MapPosition?) -> Int {
    guard let a else { return b == nil ? 0 : 1 }
    guard let b else { return -1 }
    return a.compare(to: b)
  }

  /// True if the merge normally keeps the first side's value at a key that only that side changed.
  private func staysAsInFirst(_ place: MapPosition) -> Bool {
    if followsRecord || documents != nil { return false }
    // A directory that is removed may have to stay.
    return place.new != nil || !place.isDirectory
  }

  private mutating func mergeDifference(
    _ place: MapPosition, _ triple: MergeTriple
  ) throws(StoreError) {
    if place.isDirectory { return try mergeDirectory(triple) }
    let rule = try documents?.rule(at: place.key)
    switch rule {
    case .take(let side)?:
      return try mergeValue(place.key, triple, plain: side == .first ? .first : .second)
    case .content(let stored)?:
      return try mergeValue(place.key, triple, plain: .content(stored, kind: .regular))
    case .clash?, nil: break
    }
    let plain = followsRecord ? nil : triple.plainOutcome
    if plain == nil, mayRename, let clash = PostponedClash(place.key, triple) {
      postponed.append(clash)
    } else {
      try mergeValue(place.key, triple, plain: plain)
    }
  }

  /// Merges a value; `plain` is the outcome without an arbiter, if already known.
  mutating func mergeValue(
    _ key: Key, _ triple: MergeTriple, plain: MergeOutcome? = nil
  ) throws(StoreError) {
    var decided = plain
    if decided == nil { decided = try outcome(key, triple) }
    switch decided ?? .removed {
    case .removed: remove(key, triple)
    case .first:
      guard let entry = triple.first else { return remove(key, triple) }
      try put(entry, from: .first, triple)
    case .second:
      guard let entry = triple.second else { return remove(key, triple) }
      try put(entry, from: .second, triple)
    case .content(let stored, let kind):
      var entry = triple.first ?? triple.second ?? MergeTriple.blank(key)
      entry.stored = stored
      entry.kind = kind
      entry.storedVersion = number
      if kind != .characterDevice && kind != .blockDevice { entry.attributes.device = nil }
      try put(entry, from: nil, triple)
    }
  }

  private mutating func outcome(
    _ key: Key, _ triple: MergeTriple
  ) throws(StoreError) -> MergeOutcome {
    if case .recorded(let changes) = rule { return recordedOutcome(changes[key], triple) }
    if let plain = triple.plainOutcome { return plain }
    guard case .arbiter(let arbiter) = rule else {
      clashes.append(key)
      return .removed
    }
    var clash = MergeClash(
      key: key, base: triple.base, first: triple.first, second: triple.second,
      firstVersion: firstVersion, secondVersion: secondVersion)
    if case .clash(let known)? = try documents?.rule(at: key) { clash.document = known }
    if triple.base == nil { clash.bases = bases }
    switch try arbiter.decide(clash) {
    case .take(let side):
      dropped.append(
        MergeDrop(key: key, side: side.other, entry: clash.entry(side.other), isPartial: false))
      return side == .first ? .first : .second
    case .bytes(let bytes, let kind, let sides):
      for side in sides {
        dropped.append(MergeDrop(key: key, side: side, entry: clash.entry(side), isPartial: true))
      }
      return .content(try write(bytes), kind: kind)
    }
  }

  private func recordedOutcome(
    _ change: RecordedMergeChange?, _ triple: MergeTriple
  ) -> MergeOutcome {
    switch change {
    case nil: return triple.first == nil ? .removed : .first
    case .removal: return .removed
    case .value(let stored, let kind, let version):
      // The predecessor with this reference, else the one with these bytes, else the first.
      if let second = triple.second, second.storedVersion == version { return .second }
      if let first = triple.first, first.storedVersion == version { return .first }
      let inherited = [triple.first, triple.second].compactMap(\.self)
      let same = inherited.first { $0.stored.digest == stored.digest } ?? inherited.first
      return .content(stored, kind: kind ?? same?.kind ?? .regular)
    }
  }

  mutating func remove(_ key: Key, _ triple: MergeTriple) {
    guard triple.first != nil else { return }
    edits.append(.remove(key, directory: false))
    changes.append(triple.second == nil ? .preserveRemoval(key) : .remove(key))
  }

  mutating func put(
    _ source: Entry, from side: MergeSide?, _ triple: MergeTriple
  ) throws(StoreError) {
    let merged = try completed(source, from: side, triple)
    guard merged != triple.first else { return }
    edits.append(.put(merged))
    switch side {
    case .first: break
    case .second:
      // With equal references only attributes differ, and change lists omit these.
      if merged.storedVersion != triple.first?.storedVersion
        || triple.first?.hasSameUnit(as: merged) != true
      {
        changes.append(.preserve(merged))
      }
    case nil: changes.append(triple.first == nil ? .insert(merged) : .update(merged))
    }
  }

  private mutating func mergeDirectory(_ triple: MergeTriple) throws(StoreError) {
    switch (triple.first, triple.second) {
    case (nil, nil): break
    case (let first?, _?):
      let merged = try completed(first, from: .first, triple)
      if merged != first { edits.append(.put(merged)) }
    case (let first?, nil): if triple.base != nil { contested.append((first, .first)) }
    case (nil, let second?):
      if triple.base == nil {
        edits.append(.put(second))
      } else {
        contested.append((second, .second))
      }
    }
  }

  /// Removes or keeps the directories that one side removed, now that their contents are known.
  private mutating func settleDirectories() throws(StoreError) -> ValueMap {
    let removals = contested.compactMap { item -> MapEdit? in
      item.side == .first ? .remove(item.entry.key, directory: true) : nil
    }
    edits = merging(edits, removals)
    var map = try first.applying(edits: edits)
    guard !contested.isEmpty else { return map }
    var kept: [Entry] = []
    // Deepest first: a directory that stays holds up those above it.
    for item in contested.reversed() {
      let prefix = item.entry.key.bytes + [UInt8(ascii: "/")]
      let isNeeded = try map.contains(prefix: prefix)
      if isNeeded || kept.contains(where: { $0.key.bytes.starts(with: prefix) }) {
        kept.append(item.entry)
      }
    }
    guard !kept.isEmpty else { return map }
    let restored = Set(kept.map(\.key))
    let other = edits.filter { !($0.isDirectory && restored.contains($0.key)) }
    let put = contested.compactMap { item -> MapEdit? in
      item.side == .second && restored.contains(item.entry.key) ? .put(item.entry) : nil
    }
    edits = merging(other, put)
    map = try first.applying(edits: edits)
    return map
  }

  private func merging(_ a: [MapEdit], _ b: [MapEdit]) -> [MapEdit] {
    b.isEmpty ? a : (a + b).sorted(by: MapEdit.precedes)
  }

  /// The entry with its merged attributes and the numbers that this store gives it.
  private func completed(
    _ source: Entry, from side: MergeSide?, _ triple: MergeTriple
  ) throws(StoreError) -> Entry {
    var entry = source
    if let first = triple.first, let second = triple.second {
      entry.attributes = .merged(
        base: triple.base?.attributes, first: first.attributes, second: second.attributes,
        newer: newer)
      entry.attributes.device = source.attributes.device
    }
    // Bytes without a recorded time have the time of the version that stores them (docs/merging.md, M14).
    if side == nil { entry.attributes.mtime = nil }
    if let first = triple.first, entry.hasSameContent(as: first) {
      entry.revision = first.revision
    } else if let second = triple.second, entry.hasSameContent(as: second) {
      entry.revision = second.revision
    } else {
      entry.revision = try allotRevision()
    }
    return entry
  }
}

extension MergeTriple {
  /// An entry with nothing recorded, for a key that neither side has.
  static func blank(_ key: Key) -> Entry {
    Entry(
      key: key, kind: .regular, attributes: Attributes(),
      stored: StoredContent(length: 0, digest: .ofNothing, content: .none),
      storedVersion: VersionNumber(0), revision: 0)
  }
}
