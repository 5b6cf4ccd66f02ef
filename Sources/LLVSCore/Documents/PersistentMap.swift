/// An immutable map whose changed copies share all equal parts: a hash array mapped trie (Bagwell, "Ideal Hash
/// Trees", 2001).
///
/// The states of successive versions together take little more memory than their changes.
/// - Concurrency: immutable; any thread.
package struct PersistentMap<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  fileprivate typealias Item = (key: Key, value: Value)

  /// Items with equal hashes, usually one.
  fileprivate final class Leaf: Sendable {
    let hash: UInt
    let items: [Item]

    init(_ hash: UInt, _ items: [Item]) {
      self.hash = hash
      self.items = items
    }
  }

  fileprivate final class Node: Sendable {
    /// One bit for each existing child.
    let bitmap: UInt32
    let children: [Child]

    init(_ bitmap: UInt32, _ children: [Child]) {
      self.bitmap = bitmap
      self.children = children
    }

    func child(_ bit: UInt32) -> Child? {
      bitmap & bit == 0 ? nil : children[(bitmap & (bit - 1)).nonzeroBitCount]
    }
  }

  fileprivate enum Child: Sendable {
    case leaf(Leaf)
    case node(Node)

    func isIdentical(to other: Child) -> Bool {
      switch (self, other) {
      case (.leaf(let a), .leaf(let b)): a === b
      case (.node(let a), .node(let b)): a === b
      default: false
      }
    }
  }

  private static var bits: UInt { 5 }

  private var root: Child?
  package private(set) var count = 0

  package init() {}

  package subscript(key: Key) -> Value? {
    get {
      let hash = Self.hash(key)
      var child = root
      var rest = hash
      while case .node(let node)? = child {
        child = node.child(1 << (rest & 31))
        rest >>= Self.bits
      }
      guard case .leaf(let leaf)? = child, leaf.hash == hash else { return nil }
      return leaf.items.first { $0.key == key }?.value
    }
    set {
      let hash = Self.hash(key)
      root = Self.changed(root, hash, hash, 0) { items in
        var items = items
        let index = items.firstIndex { $0.key == key }
        switch (index, newValue) {
        case (let index?, let value?): items[index].value = value
        case (let index?, nil):
          items.remove(at: index)
          count -= 1
        case (nil, let value?):
          items.append((key, value))
          count += 1
        case (nil, nil): break
        }
        return items
      }
    }
  }

  /// Sets the values of many keys; each key occurs once.
  package mutating func merge(_ items: [(key: Key, value: Value)]) {
    guard !items.isEmpty else { return }
    root = Self.merged(root, items.map { (Self.hash($0.key), $0) }, 0, &count)
  }

  private static func merged(
    _ child: Child?, _ items: [(hash: UInt, item: Item)], _ depth: UInt, _ count: inout Int
  ) -> Child? {
    let first = items[0]
    if items.count == 1 {
      var added = 0
      let made = changed(child, first.hash, first.hash >> (depth * bits), depth) { old in
        set(first.item, in: old, &added)
      }
      count += added
      return made
    }
    var bitmap: UInt32 = 0
    var old: [Child?] = Array(repeating: nil, count: 32)
    switch child {
    case nil: break
    case .leaf(let leaf)?:
      if items.allSatisfy({ $0.hash == leaf.hash }) {
        return .leaf(
          Leaf(leaf.hash, items.reduce(leaf.items) { set($1.item, in: $0, &count) }))
      }
      old[Int(leaf.hash >> (depth * bits) & 31)] = child
    case .node(let node)?: for slot in 0..<32 { old[slot] = node.child(1 << UInt32(slot)) }
    }
    if child == nil, items.allSatisfy({ $0.hash == first.hash }) {
      return .leaf(Leaf(first.hash, items.reduce([]) { set($1.item, in: $0, &count) }))
    }
    var slots: [[(hash: UInt, item: Item)]] = Array(repeating: [], count: 32)
    for item in items { slots[Int(item.hash >> (depth * bits) & 31)].append(item) }
    var children: [Child] = []
    for slot in 0..<32 {
      let new = slots[slot].isEmpty ? old[slot] : merged(old[slot], slots[slot], depth + 1, &count)
      guard let new else { continue }
      bitmap |= 1 << UInt32(slot)
      children.append(new)
    }
    return .node(Node(bitmap, children))
  }

  private static func set(_ item: Item, in items: [Item], _ added: inout Int) -> [Item] {
    var items = items
    if let index = items.firstIndex(where: { $0.key == item.key }) {
      items[index] = item
    } else {
      items.append(item)
      added += 1
    }
    return items
  }

  /// Calls `body` with every key and its value, in no particular order.
  package func forEach<E: Error>(_ body: (Key, Value) throws(E) -> Void) throws(E) {
    try Self.forEach(root, body)
  }

  /// Calls `body` with the keys at which two maps may differ, and both values.
  /// - Complexity: O(the keys changed on the way from one to the other).
  package static func differences<E: Error>(
    _ a: Self, _ b: Self, _ body: (Key, Value?, Value?) throws(E) -> Void
  ) throws(E) { try differences(a.root, b.root, body) }
  private static func hash(_ key: Key) -> UInt { UInt(bitPattern: key.hashValue) }

  private static func changed(
    _ child: Child?, _ hash: UInt, _ rest: UInt, _ depth: UInt, _ edit: ([Item]) -> [Item]
  ) -> Child? {
    switch child {
    case nil:
      let items = edit([])
      return items.isEmpty ? nil : .leaf(Leaf(hash, items))
    case .leaf(let leaf)?:
      if leaf.hash == hash {
        let items = edit(leaf.items)
        return items.isEmpty ? nil : .leaf(Leaf(hash, items))
      }
      let items = edit([])
      guard !items.isEmpty else { return child }
      return joined(leaf, leaf.hash >> (depth * bits), Leaf(hash, items), rest)
    case .node(let node)?:
      let bit: UInt32 = 1 << (rest & 31)
      let index = (node.bitmap & (bit - 1)).nonzeroBitCount
      var children = node.children
      let old = node.child(bit)
      let new = changed(old, hash, rest >> bits, depth + 1, edit)
      switch (old, new) {
      case (nil, nil): return child
      case (nil, let new?):
        children.insert(new, at: index)
        return .node(Node(node.bitmap | bit, children))
      case (.some, let new?):
        children[index] = new
        return .node(Node(node.bitmap, children))
      case (.some, nil):
        children.remove(at: index)
        return children.isEmpty ? nil : .node(Node(node.bitmap & ~bit, children))
      }
    }
  }

  private static func joined(_ a: Leaf, _ restOfA: UInt, _ b: Leaf, _ restOfB: UInt) -> Child {
    let (i, j) = (restOfA & 31, restOfB & 31)
    if i == j { return .node(Node(1 << i, [joined(a, restOfA >> bits, b, restOfB >> bits)])) }
    return .node(Node(1 << i | 1 << j, i < j ? [.leaf(a), .leaf(b)] : [.leaf(b), .leaf(a)]))
  }

  private static func forEach<E: Error>(
    _ child: Child?, _ body: (Key, Value) throws(E) -> Void
  ) throws(E) {
    switch child {
    case nil: break
    case .leaf(let leaf)?: for item in leaf.items { try body(item.key, item.value) }
    case .node(let node)?: for child in node.children { try forEach(child, body) }
    }
  }

  private static func differences<E: Error>(
    _ a: Child?, _ b: Child?, _ body: (Key, Value?, Value?) throws(E) -> Void
  ) throws(E) {
    switch (a, b) {
    case (nil, _): try forEach(b) { key, value throws(E) in try body(key, nil, value) }
    case (_, nil): try forEach(a) { key, value throws(E) in try body(key, value, nil) }
    case (let first?, let second?):
      if first.isIdentical(to: second) { return }
      if case .node(let x) = first, case .node(let y) = second {
        var all = x.bitmap | y.bitmap
        while all != 0 {
          let bit = all & (0 &- all)
          try differences(x.child(bit), y.child(bit), body)
          all &= ~bit
        }
        return
      }
      var table: [Key: (Value?, Value?)] = [:]
      forEach(a) { key, value in table[key] = (value, nil) }
      forEach(b) { key, value in table[key] = (table[key]?.0, value) }
      for (key, pair) in table { try body(key, pair.0, pair.1) }
    }
  }
}
