/// Builds the tree of a long value from its items, bottom up; each node is written when it ends.
struct ValueTreeBuilder {
  typealias Item = ValueNode.Item
  private let store: ContentStore
  /// The value that nodes may be stored against.
  private let prior: StoredContent?
  private var open: [[Item]] = [[]]
  private var length: UInt64 = 0

  init(store: ContentStore, prior: StoredContent?) {
    self.store = store
    self.prior = prior
  }

  /// Returns true if a whole node of a level may be added: all nodes below it are closed.
  func mayAdd(level: Int) -> Bool { open.prefix(level).allSatisfy { $0.isEmpty } }

  /// Adds an item of level 0, or a whole node as an item of the level above its own.
  mutating func add(_ item: Item, level: Int = 0) throws(StoreError) {
    length += item.length
    try push(item, level: level)
  }

  private mutating func push(_ item: Item, level: Int) throws(StoreError) {
    while open.count <= level { open.append([]) }
    open[level].append(item)
    if ValueNode.ends(after: item, count: open[level].count) {
      let node = try close(level)
      try push(node, level: level + 1)
    }
  }

  /// Writes the open node of a level and returns it as an item.
  private mutating func close(_ level: Int) throws(StoreError) -> Item {
    guard let node = ValueNode(level: UInt8(level), items: open[level]) else {
      throw .invalid("a value is too long")
    }
    open[level] = []
    // Lower levels are closed, so the node ends where the value ends so far.
    let range = (length - node.length)..<length
    let places = prior.map { store.nodes(of: $0, level: level, in: range) } ?? []
    let location = try node.encoded().withPiece { (bytes) throws(StoreError) in
      try store.records.append(.valueNode, bytes, after: places)
    }
    return Item(
      kind: .node, length: node.length, digest: node.digest, location: location,
      zerosBelow: node.zeros)
  }

  /// Closes all levels; nil if there are no items.
  mutating func finish() throws(StoreError) -> StoredContent? {
    var level = 0
    while level < open.count {
      // If a node has one item, the top, no level is added.
      if level == open.count - 1, level > 0, open[level].count == 1, let top = open[level].first {
        return stored(top)
      }
      if !open[level].isEmpty {
        let node = try close(level)
        if level == open.count - 1 { return stored(node) }
        try push(node, level: level + 1)
      }
      level += 1
    }
    return nil
  }

  private func stored(_ top: Item) -> StoredContent? {
    guard let digest = top.digest, let location = top.location else { return nil }
    return StoredContent(
      length: length, digest: Digest.ofValue(length: length, top: digest),
      content: .tree(location))
  }
}
