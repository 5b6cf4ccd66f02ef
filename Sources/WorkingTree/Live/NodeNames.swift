/// A name in a directory.
struct NodeName: Hashable {
  let parent: LiveNode
  let name: [UInt8]

  static func == (left: NodeName, right: NodeName) -> Bool {
    left.parent === right.parent && left.name == right.name
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(parent))
    hasher.combine(name)
  }
}

/// Names of one file, each once, in no order that lasts.
///
/// - Complexity: each operation O(1), however many there are: a file may have tens of thousands.
struct NodeNames: Sequence {
  private var list: [NodeName] = []
  /// Where each stands in `list`; empty while they are so few that looking through them is quicker.
  private var places: [NodeName: Int] = [:]

  private static let few = 16

  var count: Int { list.count }
  var isEmpty: Bool { list.isEmpty }

  func makeIterator() -> IndexingIterator<[NodeName]> { list.makeIterator() }

  private func place(of name: NodeName) -> Int? {
    places.isEmpty ? list.firstIndex(of: name) : places[name]
  }

  func contains(_ name: NodeName) -> Bool { place(of: name) != nil }

  /// Adds a name that is not there.
  mutating func insert(_ name: NodeName) {
    list.append(name)
    if !places.isEmpty {
      places[name] = list.count - 1
    } else if list.count > Self.few {
      places = Dictionary(uniqueKeysWithValues: zip(list, list.indices))
    }
  }

  /// Takes a name away; false if it is not there.
  mutating func remove(_ name: NodeName) -> Bool {
    guard let place = place(of: name) else { return false }
    list.swapAt(place, list.count - 1)
    list.removeLast()
    guard !places.isEmpty else { return true }
    places[name] = nil
    if place < list.count { places[list[place]] = place }
    return true
  }

  mutating func popLast() -> NodeName? {
    guard let last = list.popLast() else { return nil }
    places[last] = nil
    return last
  }
}
