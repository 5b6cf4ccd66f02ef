/// A set with cheap copies (``SharedMap``).
package struct SharedSet<Member: SharedKey>: Equatable, Sendable {
  fileprivate struct Nothing: Equatable, Sendable {}

  private var members = SharedMap<Member, Nothing>()
  package init() {}
  package var count: Int { members.count }
  package var isEmpty: Bool { members.isEmpty }
  package func contains(_ member: Member) -> Bool { members.contains(member) }
  package mutating func insert(_ member: Member) { members.insert(Nothing(), ifAbsent: member) }
  package mutating func remove(_ member: Member) { if contains(member) { members[member] = nil } }
}

extension SharedSet: Sequence {
  package struct Iterator: IteratorProtocol {
    fileprivate var elements: SharedMap<Member, Nothing>.Iterator
    package mutating func next() -> Member? { elements.next()?.key }
  }

  package func makeIterator() -> Iterator { Iterator(elements: members.makeIterator()) }
  package var underestimatedCount: Int { count }
}
