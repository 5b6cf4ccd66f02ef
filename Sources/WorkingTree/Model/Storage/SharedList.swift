/// A list with cheap copies: the first change after a copy copies one part and the list of parts.
package struct SharedList<Element: Sendable>: Sendable {
  private static var partSize: Int { 512 }
  private var parts: ContiguousArray<ContiguousArray<Element>> = []
  private var end: ContiguousArray<Element> = []
  package init() {}
  package var count: Int { parts.count * Self.partSize + end.count }
  package var isEmpty: Bool { parts.isEmpty && end.isEmpty }

  /// - Complexity: O(1) on average; O(*n*/512) once after a copy.
  package mutating func append(_ element: Element) {
    end.append(element)
    guard end.count == Self.partSize else { return }
    parts.append(end)
    end = []
    end.reserveCapacity(Self.partSize)
  }
}

extension SharedList: Sequence {
  package struct Iterator: IteratorProtocol {
    fileprivate let list: SharedList
    private var part = 0
    private var index = 0
    fileprivate init(_ list: SharedList) { self.list = list }

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

  package func makeIterator() -> Iterator { Iterator(self) }
  package var underestimatedCount: Int { count }
}

extension SharedList: Equatable where Element: Equatable {
  package static func == (a: Self, b: Self) -> Bool { a.elementsEqual(b) }
}
