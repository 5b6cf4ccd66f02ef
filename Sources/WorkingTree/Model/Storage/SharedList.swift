/// A list of which copies are cheap: the first change after a copy copies a short part at the end and a list of parts.
package struct SharedList<Element: Sendable>: Sendable {
  private static var partSize: Int { 512 }

  private var parts: ContiguousArray<ContiguousArray<Element>> = []
  /// The last elements, fewer than a part has.
  private var end: ContiguousArray<Element> = []

  package init() {}

  /// The number of elements.
  package var count: Int { parts.count * Self.partSize + end.count }

  /// True if there are no elements.
  package var isEmpty: Bool { parts.isEmpty && end.isEmpty }

  /// Adds an element at the end.
  ///
  /// - Complexity: O(1) on average; after a copy O(*n*/512) once.
  package mutating func append(_ element: Element) {
    end.append(element)
    guard end.count == Self.partSize else { return }
    parts.append(end)
    end = []
    end.reserveCapacity(Self.partSize)
  }
}

extension SharedList: Sequence {
  /// Elements one after the other.
  package struct Iterator: IteratorProtocol {
    fileprivate let list: SharedList
    private var part = 0
    private var index = 0

    fileprivate init(_ list: SharedList) { self.list = list }

    /// Returns the next element.
    package mutating func next() -> Element? {
      if part < list.parts.count {
        defer {
          index += 1
          if index == partSize { (part, index) = (part + 1, 0) }
        }
        return list.parts[part][index]
      }
      guard index < list.end.count else { return nil }
      defer { index += 1 }
      return list.end[index]
    }
  }

  /// Returns the elements one after the other, as they are now.
  package func makeIterator() -> Iterator { Iterator(self) }

  package var underestimatedCount: Int { count }
}

extension SharedList: Equatable where Element: Equatable {
  /// Returns true if two lists have the same elements in the same order.
  package static func == (a: Self, b: Self) -> Bool { a.elementsEqual(b) }
}

extension SharedList: Hashable where Element: Hashable {
  package func hash(into hasher: inout Hasher) { hasher.combine(count) }
}
