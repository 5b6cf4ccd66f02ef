import LLVS

// Replaying a cut that the store committed and the tree did not install.

extension LiveTree {
  /// Lays what is pending over the head that a committed cut made: what the cut took is recognised
  /// by its bytes and attributes.
  func rebase(_ taken: CutPlan, onto state: LiveState) throws(StoreError) {
    let view = TreeView(map: state.map)
    let own = try state.ownVersion.flatMap { (number) throws(StoreError) in
      try store.version(number)
    }
    let before = own.map { TreeView(map: store.map($0.map)) } ?? taken.base
    var entries = PlannedEntries()
    var aside: [ForeignChange] = []
    var plan = taken
    var kept: [CutPlan.Item] = []
    for item in plan.items {
      guard case .put(let nodeState, _) = item.action else {
        kept.append(item)
        continue
      }
      // On the head as a rule; what follows it in the transaction may have taken it back.
      for tree in own == nil ? [view] : [before, view] {
        guard let entry = try entry(in: tree, at: item.path, kind: nodeState.kind),
          try wasTaken(nodeState, as: entry)
        else { continue }
        entries[nodeState.node.inode] = entry
        break
      }
      if entries[nodeState.node.inode] == nil,
        let entry = try entry(ofSide: item, nodeState, of: plan, own: own?.number)
      {
        entries[nodeState.node.inode] = entry
        let above = item.path.lastIndex(of: 0x2F).map { Array(item.path[..<$0]) } ?? []
        aside.append(
          ForeignChange(
            path: item.path, parent: try LiveMap.inode(ofDirectory: above, in: before), old: entry,
            new: try self.entry(in: view, at: item.path, kind: nodeState.kind)))
      }
      if entries[nodeState.node.inode] != nil { kept.append(item) }
    }
    plan.items = kept
    let foreign = try LiveMap.differences(from: before.map, to: state.map)
    let paths = Set(aside.map(\.path))
    var renamed: [ForeignChange] = []
    try LiveMap.add(try taken.displacements(in: before.map), to: &renamed, from: taken.base)
    let installation = Installation(
      base: view, head: state.head, ownVersion: state.ownVersion, entries: entries,
      renamed: renamed,
      foreign: (foreign.changes.filter { !paths.contains($0.path) } + aside)
        .sorted { $0.path.lexicographicallyPrecedes($1.path) },
      implied: foreign.implied, learnsNumbers: true)
    _ = install(installation, after: plan)
    for node in nodes.values where node.isInBase && !node.isMoved {
      guard let path = node.path, let found = try entry(in: view, at: path, kind: node.kind),
        // What is pending at a name is so on the bytes that it was made on.
        !isPending(node) || node.entry?.stored.digest == found.stored.digest
      else { continue }
      node.entry = found
    }
  }

  /// The most versions that one cut makes, as far as they are looked for.
  private static let mostSides: UInt32 = 1000

  /// What a version of the cut that was made on an older predecessor has of an item.
  private func entry(
    ofSide item: CutPlan.Item, _ state: CutPlan.NodeState, of plan: CutPlan, own: VersionNumber?
  ) throws(StoreError) -> Entry? {
    let predecessor = plan.predecessor(of: item)
    guard plan.side(of: item) != plan.ownSide, let head = plan.head else { return nil }
    let last = store.lastNumber
    let first = max(head.rawValue + 1, last - min(last, Self.mostSides))
    guard first <= last else { return nil }
    for number in first...last where own?.rawValue != number {
      guard let version = try store.version(VersionNumber(number)),
        version.first == predecessor, version.second == nil,
        let entry = try entry(
          in: TreeView(map: store.map(version.map)), at: item.path, kind: state.kind),
        try wasTaken(state, as: entry)
      else { continue }
      return entry
    }
    return nil
  }

  private func entry(
    in view: TreeView, at path: [UInt8], kind: EntryKind
  ) throws(StoreError) -> Entry? {
    switch try view.find(path: path) {
    case .value(let entry)? where kind != .directory: entry
    case .directory(let entry)? where kind == .directory: entry
    default: nil
    }
  }

  private func wasTaken(
    _ state: CutPlan.NodeState, as entry: Entry
  ) throws(StoreError) -> Bool {
    guard let chosen = state.taken else { return true }
    let content = chosen.content
    guard content.size == entry.stored.length else { return false }
    if let stored = content.unchangedBase { return stored.digest == entry.stored.digest }
    let source = ContentReader(tree: self, content: content)
    do throws(StoreError) {
      return try isSame(content, source, entry)
    } catch {
      // A cut read these bytes whole before the store committed it: what is left of them is in a version.
      guard error.damage != nil else { throw error }
      return true
    }
  }

  private func isSame(
    _ content: FileContent, _ source: ContentReader, _ entry: Entry
  ) throws(StoreError) -> Bool {
    var offset: UInt64 = 0
    while offset < content.size {
      let count = Int(min(1 << 16, content.size - offset))
      let at = offset
      let mine = try [UInt8].filled(count) { (buffer) throws(StoreError) in
        try source.read(at: at, into: buffer)
      }
      let theirs = try [UInt8].filled(count) { (buffer) throws(StoreError) in
        _ = try store.contents.read(entry.stored, at: at, into: buffer)
      }
      guard mine == theirs else { return false }
      offset += UInt64(count)
    }
    return true
  }
}
