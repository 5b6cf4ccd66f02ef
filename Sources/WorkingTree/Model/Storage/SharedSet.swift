/// A set of which copies are cheap: see ``SharedMap``.
package struct SharedSet<Member: SharedKey>: Hashable, Sendable {
  fileprivate struct Nothing: Hashable, Sendable {}

  private var members = SharedMap<Member, Nothing>()

  package init() {}

  /// The number of members.
  package var count: Int { members.count }

  /// True if there are no members.
  package var isEmpty: Bool { members.isEmpty }

  /// Returns true for a member.
  package func contains(_ member: Member) -> Bool { members.contains(member) }

  /// Makes something a member.
  package mutating func insert(_ member: Member) { members.insert(Nothing(), ifAbsent: member) }

  /// Removes a member, if it is one.
  package mutating func remove(_ member: Member) { if contains(member) { members[member] = nil } }

  package func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

extension SharedSet: Sequence {
  /// Members one after the other.
  package struct Iterator: IteratorProtocol {
    fileprivate var elements: SharedMap<Member, Nothing>.Iterator

    /// Returns the next member.
    package mutating func next() -> Member? { elements.next()?.key }
  }

  /// Returns the members one after the other, as they are now.
  package func makeIterator() -> Iterator { Iterator(elements: members.makeIterator()) }

  package var underestimatedCount: Int { count }
}
