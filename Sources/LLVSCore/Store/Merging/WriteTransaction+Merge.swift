/// The result of merging: the new versions, if any, and the version that the tree moves to.
package struct MergeReport: Sendable {
  /// A new version. Its keys are only counted, because each of many merges may take every key.
  package struct Made: Sendable {
    package var record: VersionRecord
    /// As ``MergeResult/changedCount``.
    package var changedCount: Int
  }

  /// In the order made; more than one where more than two heads were merged.
  package private(set) var made: [Made] = []
  /// The version that holds everything merged, even if no version had to be made.
  package fileprivate(set) var outcome: VersionNumber?
  package fileprivate(set) var isWhole = true
  /// All clashes; a key counts in each merge.
  package private(set) var clashCount = 0
  /// The keys that clashed, each once, in order of merges; those of one merge ascend.
  package private(set) var clashes: [Key] = []
  private var clashed: Set<Key> = []

  package private(set) var changedCount = 0

  fileprivate mutating func add(_ record: VersionRecord, _ result: MergeResult) {
    made.append(Made(record: record, changedCount: result.changedCount))
    changedCount += result.changedCount
    clashCount += result.dropped.count
    for key in result.dropped.map(\.key).sorted() where clashed.insert(key).inserted {
      clashes.append(key)
    }
  }
}

extension WriteTransaction {
  /// The most changed keys that one transaction merges; it holds them all in memory until it commits.
  package static let mergedAtOnce = 65_536

  /// Merges the heads of a line, oldest first, as every replica does (docs/merging.md, M3 and M5), but not those of
  /// unrelated histories.
  ///
  /// `outcome` is the head that then holds `live`, or the line's only head without a live tree. Once the merges
  /// changed `limit` keys no further one is made, and `isWhole` is false if one is left: the next transaction
  /// continues to the same versions.
  /// - Throws: ``StoreError/cancelled``; tested before each merge.
  package func mergeHeads(
    ofLine line: Branch?, live: VersionNumber?, upTo limit: Int = .max,
    arbiter: (VersionGraph) -> any ClashArbiter = { MostRecentChangeClashArbiter(graph: $0) },
    isCancelled: () -> Bool = { false }
  ) throws(StoreError) -> MergeReport {
    var report = MergeReport()
    var live = live
    // One for all merges, because new versions do not invalidate its caches.
    let merger = self.merger
    let graph = merger.graph
    var heads = try graph.uncontainedHeads(ofLine: line)
    while true {
      if let number = live {
        // Two heads with equal content, or a head that another was merged into: the live tree moves to it.
        let node = try graph.node(number)
        live = try graph.container(of: node, amongUncontained: heads)?.number ?? number
      }
      guard let (first, second) = try graph.nextMerge(of: heads) else {
        report.outcome = live ?? heads.last?.number
        return report
      }
      guard report.made.isEmpty || report.changedCount < limit else {
        report.outcome = live ?? heads.last?.number
        report.isWhole = false
        return report
      }
      if isCancelled() { throw .cancelled }
      let successor = try mergeAutomatically(
        first, second, merger.plan(first, second), live: live, merger, arbiter(graph), &report)
      if live == first.number || live == second.number { live = successor }
      heads = try graph.uncontained(heads, merging: first, second, into: graph.node(successor))
    }
  }

  /// Merges versions of this store, the live one and then the oldest first, as an automatic merge would: the sides
  /// of a cut, whose writers had seen different versions.
  package func mergeSides(
    _ sides: [VersionNumber], live: VersionNumber?, allowingUnrelated: Bool = false,
    arbiter: (VersionGraph) -> any ClashArbiter = { MostRecentChangeClashArbiter(graph: $0) }
  ) throws(StoreError) -> MergeReport {
    var report = MergeReport()
    var live = live
    var rest: [HistoryNode] = []
    for side in sides { rest.append(try merger.graph.node(side)) }
    // The tree's version holds everything that the sides were made on: with it each has one base. A merge of the
    // sides alone would have a base of each with the live tree.
    rest.sort { a, b in
      (a.number == live) != (b.number == live) ? a.number == live : HistoryNode.mergesBefore(a, b)
    }
    let apart = try live.map { (live) throws(StoreError) in try madeBeside(live, rest) } ?? []
    while rest.count > 1 {
      let (goesOn, side) = (rest.removeFirst(), rest.removeFirst())
      let pair = [goesOn, side].sorted { $0.id < $1.id }
      let merger = self.merger
      let plan: MergePlan
      if apart.contains(side.number), let base = side.first {
        plan = .merge(bases: [try merger.graph.node(base)])
      } else {
        plan = try merger.plan(pair[0], pair[1], allowingUnrelated: allowingUnrelated)
      }
      if case .fastForward(let node) = plan {
        rest.insert(node, at: 0)
        continue
      }
      let successor = try mergeAutomatically(
        pair[0], pair[1], plan, live: live, merger, arbiter(merger.graph), &report)
      if live == pair[0].number || live == pair[1].number { live = successor }
      rest.insert(try self.merger.graph.node(successor), at: 0)
    }
    report.outcome = rest.first?.number
    return report
  }

  /// The sides that are no ancestors of the live version and whose only predecessor is: that predecessor is their
  /// one base with it, and with merges of it and such sides. Empty unless all sides are such.
  private func madeBeside(
    _ live: VersionNumber, _ sides: [HistoryNode]
  ) throws(StoreError) -> Set<VersionNumber> {
    let sides = sides.filter { $0.number != live }
    var wanted: Set<VersionNumber> = []
    for side in sides {
      guard side.second == nil, let first = side.first else { return [] }
      wanted.formUnion([first, side.number])
    }
    let found = try merger.graph.ancestors(among: wanted, of: live)
    for side in sides {
      guard let first = side.first, found.contains(first), !found.contains(side.number) else {
        return []
      }
    }
    // A side made on the live version itself continues it.
    return Set(sides.filter { $0.first != live }.map(\.number))
  }

  private func mergeAutomatically(
    _ first: HistoryNode, _ second: HistoryNode, _ plan: MergePlan, live: VersionNumber?,
    _ merger: Merger, _ arbiter: any ClashArbiter, _ report: inout MergeReport
  ) throws(StoreError) -> VersionNumber {
    switch plan {
    case .fastForward(let node):
      // A head is never an ancestor of another.
      throw .corrupt("version \(node.id.rawValue) is a head and has a successor")
    case .merge(let bases):
      let number = try reserveVersion()
      let result = try merger.merge(
        first: first, second: second, bases: bases,
        options: options(number, arbiter), writingTo: nodes)
      let branch = try version(first.number).flatMap { (record) throws(StoreError) in
        try store.metadata(of: record)[.branch]
      }
      let version = Version(
        automatic: result, branch: branch, extra: result.droppedMetadata)
      let record = try add(result, version, number: number, flags: [.automatic, .madeHere])
      report.add(record, result)
      return number
    }
  }

  /// Merges another version into the live tree's by command: as an authored version, or none if one contains the
  /// other. `keepingLine` makes one also if `other` is on another line and contains `live`. With `settling` the
  /// version settles what clashed (docs/merging.md, M12). A caller that merges several passes the same `merger`
  /// each time, because it caches the history.
  package func merge(
    _ other: VersionNumber, into live: VersionNumber, allowingUnrelated: Bool = false,
    line: Branch?, keepingLine: Bool = false, settling: Bool = false, author: Author? = nil,
    message: String? = nil, merger: Merger? = nil,
    arbiter: (VersionGraph) -> any ClashArbiter = { MostRecentChangeClashArbiter(graph: $0) }
  ) throws(StoreError) -> MergeReport {
    let merger = merger ?? self.merger
    let (first, second) = (try merger.graph.node(live), try merger.graph.node(other))
    var report = MergeReport()
    var plan = try merger.plan(first, second, allowingUnrelated: allowingUnrelated)
    if case .fastForward(let node) = plan, keepingLine, node != first, node.line != line {
      plan = .merge(bases: [first])
    }
    switch plan {
    case .fastForward(let node): report.outcome = node.number
    case .merge(let bases):
      let number = try reserveVersion()
      let result = try merger.merge(
        first: first, second: second, bases: bases,
        options: options(number, arbiter(merger.graph)), writingTo: nodes)
      var metadata = result.droppedMetadata
      if settling, !result.dropped.isEmpty {
        metadata[.settled] = Version.MetadataValue(keys: result.dropped.map(\.key))
      }
      if let line { metadata[.branch] = Version.MetadataValue(line.rawValue) }
      author?.add(to: &metadata)
      if let message { metadata[.message] = Version.MetadataValue(message) }
      metadata[.digest] = Version.MetadataValue(result.map.contentDigest.hex)
      metadata[.writer] = try writer(of: number, after: [live, other])
      let version = Version(
        id: .random(),
        predecessors: Version.Predecessors(idOfFirst: first.id, idOfSecond: second.id),
        timestamp: try timestamp(after: [live, other]), metadata: metadata)
      let record = try add(result, version, number: number, flags: .madeHere)
      report.add(record, result)
      report.outcome = number
    }
    return report
  }

  /// The result that a merge would have; changes nothing.
  package func dryRun(
    _ first: VersionNumber, _ second: VersionNumber, allowingUnrelated: Bool = false,
    arbiter: (VersionGraph) -> any ClashArbiter = { MostRecentChangeClashArbiter(graph: $0) }
  ) throws(StoreError) -> MergeResult? {
    let merger = self.merger
    let (a, b) = (try merger.graph.node(first), try merger.graph.node(second))
    guard
      case .merge(let bases) = try merger.plan(a, b, allowingUnrelated: allowingUnrelated)
    else { return nil }
    return try merger.merge(
      first: a, second: b, bases: bases,
      options: Merger.Options(
        arbiter: arbiter(merger.graph), number: VersionNumber(.max),
        allotRevision: { () throws(StoreError) in 0 },
        // Bytes that no version names do not count.
        write: { bytes throws(StoreError) in try self.write(bytes) }),
      writingTo: OverlayNodes(over: nodes))
  }

  private func options(_ number: VersionNumber, _ arbiter: any ClashArbiter) -> Merger.Options {
    Merger.Options(
      arbiter: arbiter, number: number,
      allotRevision: { () throws(StoreError) in try self.allotRevisions() },
      write: { bytes throws(StoreError) in try self.write(bytes) })
  }

  /// Adds the version of a merge, with its change list in every form.
  func add(
    _ result: MergeResult, _ version: Version, number: VersionNumber, flags: VersionRecord.Flags
  ) throws(StoreError) -> VersionRecord {
    var keys: [Key] = []
    for edit in result.edits where keys.last != edit.key { keys.append(edit.key) }
    var size: Int64 = 0
    for change in result.changes {
      switch change {
      case .insert(let entry), .update(let entry): size += Int64(clamping: entry.stored.length)
      case .preserve, .preserveRemoval, .remove: break
      }
    }
    return try add(
      NewVersion(
        number: number, id: version.id, first: result.first.number, second: result.second.number,
        timestamp: version.timestamp,
        line: Version.line(version.metadata)?.rawValue ?? VersionRecord.unnamedLine,
        flags: flags, metadata: version.metadata, map: result.map.root,
        changes: try write(ChangeList.encode(try recorded(result.changes))), valueDataSize: size,
        changedKeys: keys))
  }

  private func recorded(_ changes: [MergeChange]) throws(StoreError) -> [RecordedChange] {
    var recorded: [RecordedChange] = []
    recorded.reserveCapacity(changes.count)
    var ids: [VersionNumber: Version.ID] = [:]
    // Each merge of many heads may name the versions that stored the values of all before it.
    let history = TransactionHistory(self)
    for change in changes {
      switch change {
      case .preserve(let entry):
        let id: Version.ID
        if let known = ids[entry.storedVersion] {
          id = known
        } else {
          id = try history.historyNode(entry.storedVersion).id
          ids[entry.storedVersion] = id
        }
        recorded.append(.preserve(entry.key, storedVersion: id))
      case .preserveRemoval(let key): recorded.append(.preserveRemoval(key))
      case .insert(let entry): recorded.append(.insert(entry.key))
      case .update(let entry): recorded.append(.update(entry.key))
      case .remove(let key): recorded.append(.remove(key))
      }
    }
    return recorded
  }
}
