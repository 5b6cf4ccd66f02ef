import Grammar
import LLVSCore
import Platform
import TreeNames

/// What a cut took in, in numbers and first names.
package struct CutSummary: Sendable {
  package var changed = 0
  package var new = 0
  package var removed = 0
  /// A few of the paths, as people read them.
  private var values: [String] = []
  /// The same of directories, with a slash behind.
  private var directories: [String] = []

  private static let mostNames = 5

  package init() {}

  /// Counts edits of a map, in ascending order.
  init(of edits: SortedEdits, on base: ValueMap) throws(StoreError) {
    // Neighbours stand in one node.
    var cursor = MapCursor(base)
    for edit in edits {
      try cursor.seek(to: edit.key.bytes, directory: edit.isDirectory)
      let old = try cursor.entry(at: edit.key, directory: edit.isDirectory)
      switch edit {
      case .put(let entry):
        if let old, old.hasSameContent(as: entry) { continue }
        if old == nil { new += 1 } else { changed += 1 }
      case .remove:
        guard old != nil else { continue }
        removed += 1
      }
      note(edit)
    }
  }

  private mutating func note(_ edit: MapEdit) {
    guard (edit.isDirectory ? directories : values).count < Self.mostNames else { return }
    let path = PrintableText.text(TreeView.ownPath(edit.key))
    if edit.isDirectory { directories.append(path + "/") } else { values.append(path) }
  }

  /// The first few of what changed: files, and where these are fewer directories, which mostly come with
  /// what is in them.
  package var names: [String] { Array((values + directories).prefix(Self.mostNames)) }

  /// How many names changed, came and went.
  var count: Int { changed + new + removed }

  mutating func add(_ other: CutSummary) {
    changed += other.changed
    new += other.new
    removed += other.removed
    values += other.values.prefix(Self.mostNames - values.count)
    directories += other.directories.prefix(Self.mostNames - directories.count)
  }

  /// For example `3 changed, 1 new: notes/a, notes/b ...`.
  package var text: String {
    var parts: [String] = []
    if changed > 0 { parts.append("\(changed) changed") }
    if new > 0 { parts.append("\(new) new") }
    if removed > 0 { parts.append("\(removed) removed") }
    if parts.isEmpty { return "nothing changed" }
    return parts.joined(separator: ", ") + ": " + names.joined(separator: ", ")
      + (count > names.count ? " ..." : "")
  }
}

/// Makes the versions of a cut: one for each predecessor that writers had last seen, merged; where several
/// files that had seen one predecessor belong at one path, one for each of them.
struct CutVersions {
  struct Made {
    /// The head after the cut.
    var head: VersionNumber?
    /// The version made on the plan's head, and its map.
    var own: VersionNumber?
    var ownMap: ValueMap?
    /// The newest version that was made.
    var newest: VersionRecord?
    var entries = PlannedEntries()
    /// The nodes of those of ``entries`` that were put on older predecessors, and so were merged.
    var stale: Set<UInt64> = []
    /// Something was made on another predecessor than the head, or by a file that no longer has its name:
    /// what the tree shows is no version that was made.
    var isApart = false
    /// Values that moved with a directory and are shown elsewhere than at their paths, by the paths that they
    /// had in the tree when the cut was made.
    var displacedCopies: [(path: [UInt8], entry: Entry)] = []
    /// The versions made besides the live tree's own.
    var sides: [CutPlan.Side: VersionNumber] = [:]
    /// The same by what they were made of in the end.
    var groups: [CutPlan.Side: VersionNumber] = [:]
    /// The nodes that the plan put at places, which keep their numbers there.
    var placed: [MapPlace: UInt64] = [:]
    /// Of those who set attributes, the ones that had seen the files as the head has them.
    var informed: Set<ReaderMemory.Place> = []
    /// Directories that got entries since nothing is left below them.
    var emptied: [[UInt8]] = []
    /// Nodes whose numbers differ from the base's and nothing else does.
    var renumbered: Set<UInt64> = []
    var summary = CutSummary()
  }

  /// From so many edits on another thread pays.
  private static let longPlan = 256

  let tree: LiveTree
  let plan: CutPlan
  let message: String?

  func add(to transaction: WriteTransaction) throws(StoreError) -> Made {
    var made = Made(head: plan.head)
    made.isApart = !plan.detached.isEmpty
    let groups = try grouped()
    let line = try plan.head.flatMap { (head) throws(StoreError) in
      try tree.store.version(head)?.line
    }
    for (place, epoch, item) in plan.setters {
      guard let seen = plan.predecessors[epoch], seen != plan.head else { continue }
      if try isUntouched(item, since: seen) { made.informed.insert(place) }
    }
    var heads: [VersionNumber] = []
    var left: [String: [VersionNumber]] = [:]
    for (side, items) in groups {
      if side != plan.ownSide { made.isApart = true }
      let place = try place(of: side.predecessor, line: line)
      guard let number = try version(side, place, items, transaction, &made) else { continue }
      if side != plan.ownSide { note(number, side, items, &made) }
      if !place.joinsHead {
        left[place.line, default: []].append(number)
      } else if !side.isLeft {
        // Where a switch took a file away, nothing of what was left comes along with what is saved in it.
        heads.append(number)
      }
    }
    let arbiter = ChosenArbiter.maker(
      tree.lock.withLock { _ in tree.settings.arbiters }, tree.store, ArbiterTrials(telling: tree))
    for (line, sides) in left.sorted(by: { $0.key < $1.key }) {
      try join(sides, on: line, transaction, arbiter)
    }
    if heads.isEmpty { return made }
    if made.own == nil, let head = plan.head { heads.insert(head, at: 0) }
    let merged = try transaction.mergeSides(
      heads, live: made.own ?? plan.head,
      // Before the first version, where that came from elsewhere, nothing is what writers had seen.
      allowingUnrelated: groups.contains { $0.0.predecessor == nil },
      arbiter: arbiter)
    made.newest = merged.made.last?.record ?? made.newest
    made.head = merged.outcome
    return made
  }

  private func note(
    _ number: VersionNumber, _ side: CutPlan.Side, _ items: [CutPlan.Item], _ made: inout Made
  ) {
    made.groups[side] = number
    for item in items { made.sides[plan.side(of: item)] = number }
  }

  /// What a cut that the store committed made of the plan, as far as the tree has to know it.
  ///
  /// Bytes stand where that one stored them; the versions say which.
  ///
  /// - Complexity: O(*k* log *n*) for *k* items, and the bytes that they hold, which are compared.
  func recalled(_ record: CutRecord, own: VersionNumber?) throws(StoreError) -> Made {
    var made = Made(head: plan.head)
    made.isApart = !plan.detached.isEmpty
    for (side, items) in try grouped() {
      let number = side == plan.ownSide ? own : record.sides[side]
      let version = try number.flatMap { (number) throws(StoreError) in
        try tree.store.version(number)
      }
      let map = version.map { tree.store.map($0.map) }
      _ = try builder(
        of: side, items, from: .version(map), number: number ?? VersionNumber(0), &made)
      if side == plan.ownSide {
        made.own = number
        made.ownMap = map
      } else {
        made.isApart = true
        if let number { note(number, side, items, &made) }
      }
    }
    return made
  }

  /// Merges what was left on another line with what came of the same versions there, so that programs that go
  /// on through a switch do not leave a head each time.
  private func join(
    _ sides: [VersionNumber], on line: String, _ transaction: WriteTransaction,
    _ arbiter: @escaping ChosenArbiter.Maker
  ) throws(StoreError) {
    let graph = transaction.merger.graph
    let branch = line == VersionRecord.unnamedLine ? nil : Branch(rawValue: line)
    var heads = sides
    for head in try graph.uncontainedHeads(ofLine: branch) where !sides.contains(head.number) {
      for side in sides {
        guard let from = try graph.node(side).first,
          try graph.isAncestorOrSelf(from, of: head.number)
        else { continue }
        heads.append(head.number)
        break
      }
    }
    guard heads.count > 1 else { return }
    _ = try transaction.mergeSides(heads, live: nil, arbiter: arbiter)
  }

  /// Where a version made on a predecessor belongs.
  private struct Place {
    var line: String
    /// Whether the head takes it in.
    var joinsHead: Bool
  }

  /// What was changed on a version that the head came of belongs to the head's line, whatever line that one
  /// was on. What was changed on another line, which a switch left meanwhile, stays there: nothing but a
  /// command merges lines, or histories that have nothing in common.
  private func place(of predecessor: VersionNumber?, line: String?) throws(StoreError) -> Place {
    let line = line ?? VersionRecord.unnamedLine
    guard let predecessor, let head = plan.head, predecessor != head else {
      return Place(line: line, joinsHead: true)
    }
    if try isAncestor(predecessor) { return Place(line: line, joinsHead: true) }
    let graph = tree.store.graph
    let (mine, other) = (try graph.node(head), try graph.node(predecessor))
    let name = try tree.store.version(predecessor)?.line ?? VersionRecord.unnamedLine
    let isRelated = try graph.areRelated(mine, other)
    return Place(line: name, joinsHead: name == line && isRelated)
  }

  /// The items by the version they go into, ancestors first.
  private func grouped() throws(StoreError) -> [(CutPlan.Side, [CutPlan.Item])] {
    guard try hasSeveral() else { return plan.items.isEmpty ? [] : [(plan.ownSide, plan.items)] }
    var groups: [CutPlan.Side: [CutPlan.Item]] = [:]
    for item in plan.items { groups[try side(of: item), default: []].append(item) }
    return groups.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Whether any item goes into another version than the head's; as a rule none does, and the list of a long
  /// plan is not copied then.
  private func hasSeveral() throws(StoreError) -> Bool {
    for item in plan.items where try side(of: item) != plan.ownSide { return true }
    return false
  }

  /// The version that an item goes into, which is the head's where the older one had the same at its path.
  private func side(of item: CutPlan.Item) throws(StoreError) -> CutPlan.Side {
    var side = plan.side(of: item)
    if side.isLeft { side.isLeft = try !isAncestor(side.predecessor) }
    if !side.isLeft, side.predecessor != plan.head, !plan.contested.contains(item.path),
      try isUntouched(item, since: side.predecessor)
    {
      side.predecessor = plan.head
    }
    return side
  }

  /// Whether the head came of a version.
  private func isAncestor(_ version: VersionNumber?) throws(StoreError) -> Bool {
    guard let version, let head = plan.head else { return true }
    return try tree.store.graph.isAncestorOrSelf(version, of: head)
  }

  /// Whether what stands at a path is what the older predecessor had there: then the change made on it
  /// and merged is the change made on the head.
  ///
  /// Of a directory that moved, and of what is put into one, the directory must also be untouched where it stood:
  /// if one part of a move were made on the head, and another on the older version, files would be left
  /// at both places.
  private func isUntouched(
    _ item: CutPlan.Item, since predecessor: VersionNumber?
  ) throws(StoreError) -> Bool {
    var (isWhole, isDirectory) = (true, false)
    if case .put(let state, let isInPlace) = item.action {
      (isWhole, isDirectory) = (!isInPlace, state.kind == .directory)
    }
    guard try isUntouched(item.path, isWhole, isDirectory, since: predecessor) else { return false }
    for origin in plan.origins(above: item.path) {
      guard try isUntouched(origin, true, true, since: predecessor) else { return false }
    }
    return true
  }

  private func isUntouched(
    _ path: [UInt8], _ isWhole: Bool, _ isDirectory: Bool, since predecessor: VersionNumber?
  ) throws(StoreError) -> Bool {
    guard plan.head != nil else { return true }
    guard let predecessor else { return try plan.base.find(path: path) == nil }
    guard let record = try tree.store.version(predecessor) else { return false }
    let old = tree.store.map(record.map)
    // Where names below alone say that a directory came, nothing at the key does.
    switch (try TreeView(map: old).find(path: path), try plan.base.find(path: path)) {
    case (nil, nil), (.value?, .value?), (.directory?, .directory?): break
    default: return false
    }
    let key = try plan.base.key(forNewPath: path, isDirectory: isDirectory)
    // What a directory displaced, or no longer does, is not what stands at that name now.
    let oldKey = try TreeView(map: old).key(forNewPath: path, isDirectory: isDirectory)
    guard key == oldKey, same(try old.entry(at: key), try plan.base.map.entry(at: key)),
      same(
        try old.entry(at: key, directory: true), try plan.base.map.entry(at: key, directory: true))
    else { return false }
    guard isWhole else { return true }
    // Keys that no plain name can be stand apart from the others.
    for prefix in [key.bytes + [0x2F], TreeView.escapedPrefix(path + [0x2F])] {
      var below = try MapDiff(
        from: old, to: plan.base.map, prefix: prefix, comparing: .content)
      guard try below.next() == nil else { return false }
    }
    return true
  }

  /// Items with the paths that their values have in an older tree: a directory that came since may have
  /// taken a name from one, which was written under the name that it is shown under now.
  private func asSeen(
    _ items: [CutPlan.Item], in view: TreeView
  ) throws(StoreError) -> [CutPlan.Item] {
    var result = items
    for (index, item) in items.enumerated() {
      let name = item.path.lastIndex(of: 0x2F).map { item.path[($0 + 1)...] } ?? item.path[...]
      guard name.starts(with: DisplacedName.prefix),
        case .value(let entry)? = try plan.base.find(path: item.path),
        TreeView.ownPath(entry.key) != item.path, try view.map.entry(at: entry.key) != nil,
        // Who saw something else by that name there meant that.
        try view.find(path: item.path) == nil
      else { continue }
      let path = try view.path(of: entry.key)
      guard path != item.path else { continue }
      result[index] = CutPlan.Item(
        path: path, epoch: item.epoch, action: item.action, turn: item.turn)
    }
    return result
  }

  private func same(_ a: Entry?, _ b: Entry?) -> Bool {
    switch (a, b) {
    case (nil, nil): true
    case (let a?, let b?): a.hasSameContent(as: b)
    default: false
    }
  }

  private func version(
    _ side: CutPlan.Side, _ place: Place, _ items: [CutPlan.Item],
    _ transaction: WriteTransaction, _ made: inout Made
  ) throws(StoreError) -> VersionNumber? {
    let predecessor = side.predecessor
    let builder = try self.builder(
      of: side, items, from: .transaction(transaction), number: transaction.nextVersion, &made)
    let base = builder.view.map
    guard builder.changesContent else { return nil }
    let edits = builder.sortedEdits()
    let steps = edits.makeIterator()
    let map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
      .applying { steps.next() }
    guard map.contentDigest != base.contentDigest || builder.replacesDamaged else { return nil }
    for case .put(let entry) in edits { transaction.noteLink(entry) }
    let author = tree.lock.withLock { _ in tree.settings.maker }
    func summarize() throws(StoreError) -> CutSummary { try CutSummary(of: edits, on: base) }
    func add() throws(StoreError) -> VersionRecord {
      try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: predecessor, base: base, map: map,
          line: place.line == VersionRecord.unnamedLine ? nil : Branch(rawValue: place.line),
          author: author, message: message))
    }
    let (summary, version) =
      edits.count >= Self.longPlan
      ? try tree.versionHelper.both(summarize, beside: add) : (try summarize(), try add())
    made.summary.add(summary)
    made.newest = version
    if side == plan.ownSide {
      made.own = version.number
      made.ownMap = map
    }
    return version.number
  }

  /// The edits that items come to, and what the tree has to know of them.
  private func builder(
    of side: CutPlan.Side, _ items: [CutPlan.Item], from source: CutSource, number: VersionNumber,
    _ made: inout Made
  ) throws(StoreError) -> EditBuilder {
    let isOnHead = side == plan.ownSide
    let record: VersionRecord? =
      if let predecessor = side.predecessor { try tree.store.version(predecessor) } else { nil }
    let view = isOnHead ? plan.base : TreeView(map: tree.store.map(record?.map ?? .empty))
    let items = isOnHead ? items : try asSeen(items, in: view)
    var builder = EditBuilder(
      tree: tree, view: view, source: source, number: number, items: items)
    if case .transaction = source {
      try PutAhead.on(items, of: tree, in: builder.view) { (ahead) throws(StoreError) in
        for (index, item) in items.enumerated() { try builder.add(item, ahead?.take(index)) }
      }
    } else {
      for item in items { try builder.add(item, nil) }
    }
    try builder.finish(keeping: isOnHead ? plan.kept.map(\.path) : [])
    made.entries.merge(builder.entries)
    made.displacedCopies += builder.displacedCopies
    made.emptied += builder.emptied
    if !isOnHead { made.stale.formUnion(builder.entries.inodes) }
    made.renumbered.formUnion(builder.renumbered)
    let detached = Set(plan.detached.map(\.inode))
    if detached.isEmpty, made.placed.isEmpty {
      made.placed = builder.placed
    } else {
      for (place, inode) in builder.placed where !detached.contains(inode) {
        made.placed[place] = inode
      }
    }
    return builder
  }
}
