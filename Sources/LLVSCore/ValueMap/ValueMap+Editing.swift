// Edits a map level by level: rebuilds runs with an edit; other nodes keep their location. The result depends on
// the entries alone, never on previous edits.

extension ValueMap {
  /// Returns the map with sorted edits applied.
  /// - Throws: ``StoreError/invalid(_:)`` if edits do not ascend strictly by (key, directory) or an entry is
  ///   invalid.
  package func applying(edits: [MapEdit]) throws(StoreError) -> ValueMap {
    var rest = edits.makeIterator()
    return try applying { rest.next() }
  }

  /// Does the same with edits read one by one, in bounded memory.
  package func applying(
    _ next: @escaping () throws(StoreError) -> MapEdit?
  ) throws(StoreError) -> ValueMap {
    var edits = try LevelEdits { () throws(StoreError) in
      guard let edit = try next() else { return nil }
      switch edit {
      case .put(let entry):
        if let fault = entry.fault { throw .invalid(fault) }
        return LevelEdit(
          key: entry.key.bytes, directory: entry.isDirectory, item: MapItem.encode(entry))
      case .remove(let key, let directory):
        return LevelEdit(key: key.bytes, directory: directory, item: nil)
      }
    }
    guard edits.first != nil else { return self }
    let oldRoot = try rootNode()
    var level = 0
    while true {
      let isInside = oldRoot.map { level <= $0.level } ?? false
      let isBelow = oldRoot.map { level < $0.level } ?? false
      let output = try rebuild(
        level: level, below: isInside ? oldRoot : nil, edits: &edits, namesUnchanged: !isBelow)
      if isBelow {
        guard !output.isEmpty else { return self }
      } else if output.count <= 1 {
        return try finished(with: output.first?.item)
      }
      guard level < MapItem.maximumLevel else { throw .invalid("a map of too many levels") }
      edits = try LevelEdits(output)
      level += 1
    }
  }

  /// Returns the map below one node; its root is the lowest level that consists of one node.
  private func finished(with item: [UInt8]?) throws(StoreError) -> ValueMap {
    guard let item else { return ValueMap(root: .empty, storage: storage, cache: cache) }
    var top = item.withUnsafeBytes { MapItem.child($0, at: 0) }
    var node = try node(at: top.location)
    while node.level > 0, node.count == 1 {
      top = node.child(0)
      node = try child(0, of: node)
    }
    let root = MapRoot(location: top.location, digest: top.digest, count: top.count)
    return ValueMap(root: root, storage: storage, cache: cache)
  }

  private func rebuild(
    level: Int, below root: MapNode?, edits: inout LevelEdits, namesUnchanged: Bool
  ) throws(StoreError) -> [LevelEdit] {
    var output = LevelOutput(map: self, namesUnchanged: namesUnchanged)
    var run = RunBuffer(level: level)
    guard let root, let location = self.root.location else {
      while edits.first != nil { try insertFirst(of: &edits, into: &run, &output) }
      try output.close(&run)
      return output.edits
    }
    var walk = LevelWalk(map: self, root: root, at: location, level: level)
    while let first = edits.first {
      try walk.seek(first.key, first.directory)
      if let index = itemAlone(first, edits.second, in: walk), let item = first.item {
        try output.replace(index, by: item, of: walk.node, at: walk.location)
        try edits.removeFirst()
        continue
      }
      while !walk.startsRun { try walk.back() }
      // A group is one or more whole runs of the old tree, to the end of an unchanged run.
      while true {
        try rebuild(walk.node, at: walk.location, isLast: walk.isLast, &edits, &run, &output)
        if walk.isLast || (run.isEmpty && walk.node.endsRun) { break }
        try walk.forward()
      }
      try output.close(&run)
      output.finishGroup()
    }
    return output.edits
  }

  /// The item of a node that an edit replaces, if it is the only edit in the node's run; then only this node
  /// changes. Edits after the last node count as edits of it.
  private func itemAlone(_ edit: LevelEdit, _ next: LevelEdit?, in walk: LevelWalk) -> Int? {
    let node = walk.node
    guard edit.item != nil, !(walk.isLast && next != nil) else { return nil }
    let index = node.search(edit.key, edit.directory)
    guard index < node.count, node.compare(index, to: edit.key, edit.directory) == 0 else {
      return nil
    }
    if let next {
      guard node.compare(node.count - 1, to: next.key, next.directory) < 0, node.endsRun else {
        return nil
      }
    }
    return index
  }

  /// Appends a node's items to the run, together with the edits among them.
  private func rebuild(
    _ node: MapNode, at location: Location, isLast: Bool, _ edits: inout LevelEdits,
    _ run: inout RunBuffer, _ output: inout LevelOutput
  ) throws(StoreError) {
    output.consume(node, at: location)
    var index = 0
    while index < node.count {
      let next = edits.first.map { max(index, node.search($0.key, $0.directory)) } ?? node.count
      run.append(index..<next, of: node)
      index = next
      // Only the last item of a node can end a run: any other would have ended the node.
      guard index < node.count, let edit = edits.first else {
        if run.lastEndsRun() { try output.close(&run) }
        break
      }
      guard node.compare(index, to: edit.key, edit.directory) == 0 else {
        if edit.item != nil { output.markChanged() }
        try insertFirst(of: &edits, into: &run, &output)
        continue
      }
      if let item = edit.item {
        if !node.withItem(index, { $0.elementsEqual(item) }) { output.markChanged() }
        run.append(item)
      } else {
        output.markChanged()
      }
      try edits.removeFirst()
      index += 1
      if edit.item != nil, index == node.count, run.lastEndsRun() { try output.close(&run) }
    }
    while isLast, edits.first != nil { try insertFirst(of: &edits, into: &run, &output) }
  }

  private func insertFirst(
    of edits: inout LevelEdits, into run: inout RunBuffer, _ output: inout LevelOutput
  ) throws(StoreError) {
    if let item = edits.first?.item {
      run.append(item)
      if run.lastEndsRun() { try output.close(&run) }
    }
    try edits.removeFirst()
  }
}
