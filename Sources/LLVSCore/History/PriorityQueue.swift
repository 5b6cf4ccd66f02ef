/// A binary heap: ``pop()`` returns the greatest element by the order given at its creation.
package struct PriorityQueue<Element> {
  private var heap: [Element] = []
  private let isLess: @Sendable (Element, Element) -> Bool

  package init(by isLess: @escaping @Sendable (Element, Element) -> Bool) { self.isLess = isLess }
  var greatest: Element? { heap.first }

  package mutating func push(_ element: Element) {
    heap.append(element)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard isLess(heap[parent], heap[child]) else { return }
      heap.swapAt(parent, child)
      child = parent
    }
  }

  package mutating func pop() -> Element? {
    guard let top = heap.first, let last = heap.popLast() else { return nil }
    guard !heap.isEmpty else { return top }
    heap[0] = last
    var parent = 0
    while true {
      var greatest = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < heap.count && isLess(heap[greatest], heap[child]) { greatest = child }
      guard greatest != parent else { return top }
      heap.swapAt(parent, greatest)
      parent = greatest
    }
  }
}

extension PriorityQueue: Sendable where Element: Sendable {}
