package import Inodes

/// The nodes of an overlay, by their numbers: a ``SharedMap`` of references to them.
///
/// A node has some hundred bytes and several references of its own. Where buckets are split, or copied since a
/// copy of the map shares them, one reference moves for each node.
package struct NodeMap: Sendable {
  /// A number and its node.
  package typealias Element = (key: InodeNumber, value: PendingNode)

  final class Holder: @unchecked Sendable {
    // Unchecked: only who has the one reference changes it. For the same reason Swift need not watch for
    // accesses that overlap, which costs as much as the access.
    @exclusivity(unchecked) var node: PendingNode?

    init(_ node: PendingNode?) { self.node = node }
  }

  private(set) var holders = SharedMap<InodeNumber, Holder>()

  package init() {}

  /// The number of nodes.
  package var count: Int { holders.count }

  /// True if there are no nodes.
  package var isEmpty: Bool { holders.isEmpty }

  /// The node of a number; nil if there is none.
  ///
  /// - Complexity: O(1) on average; a change of a map that shares its nodes with a copy copies the node and
  ///   O(√*n*) references at most.
  package subscript(number: InodeNumber) -> PendingNode? {
    // A node is read where it is: a copy of it takes as long as finding it.
    _read {
      if let holder = holders[number] { yield holder.node } else { yield nil }
    }
    _modify { yield &holders[number].node }
    set { holders[number] = newValue.map { Holder($0) } }
  }

  /// Returns a copy of a node, for who needs several things of it; nil if there is none.
  package func node(_ number: InodeNumber) -> PendingNode? { holders[number]?.node }

  /// True if there is a node of a number.
  package func contains(_ number: InodeNumber) -> Bool { holders.contains(number) }

  /// The numbers.
  package var keys: some Sequence<InodeNumber> { holders.keys }

  /// Returns the numbers of files that a closure is true for, without copies of their nodes.
  func numbers(_ isWanted: (PendingFile) -> Bool) -> [InodeNumber] {
    holders.compactMap { number, holder in
      guard let file = holder.node?.file, isWanted(file) else { return nil }
      return number
    }
  }

  /// The nodes.
  package var values: some Sequence<PendingNode> { lazy.map(\.value) }
}

extension NodeMap.Holder? {
  /// The node; whoever changes it gets a holder of his own if others have this one.
  fileprivate var node: PendingNode? {
    get { self?.node }
    _modify {
      if self != nil, !isKnownUniquelyReferenced(&self) { self = NodeMap.Holder(self?.node) }
      if let holder = self {
        // A comparison with nil would copy the node.
        defer { if case .none = holder.node { self = nil } }
        yield &holder.node
      } else {
        var node: PendingNode?
        defer { if let node { self = NodeMap.Holder(node) } }
        yield &node
      }
    }
  }
}

extension NodeMap: Sequence {
  /// Nodes one after the other.
  package struct Iterator: IteratorProtocol {
    fileprivate var holders: SharedMap<InodeNumber, NodeMap.Holder>.Iterator

    /// Returns the next number and node.
    package mutating func next() -> Element? {
      while let (number, holder) = holders.next() {
        if let node = holder.node { return (number, node) }
      }
      return nil
    }
  }

  /// Returns the nodes one after the other.
  ///
  /// A node that is changed in the meantime is met as it was, since the iterator has a reference to its holder.
  package func makeIterator() -> Iterator { Iterator(holders: holders.makeIterator()) }

  package var underestimatedCount: Int { count }
}

extension NodeMap: Equatable {
  /// Returns true if two maps have the same nodes, in any order.
  package static func == (a: Self, b: Self) -> Bool {
    a.count == b.count && a.allSatisfy { b[$0.key] == $0.value }
  }
}
