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
