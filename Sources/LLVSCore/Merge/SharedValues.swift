/// The values that both sides of a merge had after their common ancestors (docs/merging.md, M8).
struct SharedValues {
  private struct Side {
    /// The side's own versions, newest first.
    let versions: [HistoryNode]
    private(set) var maps: [ValueMap?]

    init(_ versions: [HistoryNode]) {
      self.versions = Array(
        versions.sorted { HistoryNode.isOlder($1, $0) }.prefix(SharedValues.limit))
      maps = Array(repeating: nil, count: self.versions.count)
    }

    /// The versions with a value at a key, newest first.
    mutating func held(at key: Key, _ merger: Merger) throws(StoreError) -> [Held] {
      var found: [Held] = []
      for (index, node) in versions.enumerated() {
        let map = try map(index, merger)
        if let entry = try map.entry(at: key) { found.append(Held(node: node, entry: entry)) }
      }
      return found
    }

    private mutating func map(_ index: Int, _ merger: Merger) throws(StoreError) -> ValueMap {
      if let map = maps[index] { return map }
      let map = try merger.maps.valueMap(ofVersion: versions[index].number)
      maps[index] = map
      return map
    }
  }

  private struct Held {
    let node: HistoryNode
    let entry: Entry
  }

  /// The most versions of each side that are read.
  static let limit = 1000

  private let merger: Merger
  private let numbers: (VersionNumber, VersionNumber)
  /// Nil until the first question.
  private var sides: (first: Side, second: Side)?

  init(of first: VersionNumber, _ second: VersionNumber, in merger: Merger) {
    numbers = (first, second)
    self.merger = merger
  }

  /// Returns the value that both sides had last, with the attributes that both had last with it; nil if they had no
  /// value in common.
  ///
  /// A side had a value at the time of its newest version with it; of several values, the one counts whose earlier
  /// time of both sides is the latest.
  /// - Complexity: O(*n* log *m*) for *n* versions of the sides with maps of *m* values.
  mutating func newest(at key: Key) throws(StoreError) -> Entry? {
    if sides == nil {
      let divided = try merger.graph.divided([numbers.0], [numbers.1])
      sides = (Side(divided.first), Side(divided.second))
    }
    let first = try sides?.first.held(at: key, merger) ?? []
    let second = try sides?.second.held(at: key, merger) ?? []
    guard let last = Self.last(first, second, by: \.unit) else { return nil }
    var entry = last.second
    let attributes = Self.last(
      first.filter { $0.entry.unit == entry.unit }, second.filter { $0.entry.unit == entry.unit },
      by: \.attributes)
    if let attributes {
      entry.attributes = attributes.second.attributes
    } else {
      entry.attributes = .merged(
        base: nil, first: last.first.attributes, second: last.second.attributes, newer: nil)
      entry.attributes.device = last.second.attributes.device
    }
    return entry
  }

  /// Returns the entries of both sides with the property that both had last.
  private static func last<Property: Hashable>(
    _ first: [Held], _ second: [Held], by property: (Entry) -> Property
  ) -> (first: Entry, second: Entry)? {
    var others: [Property: Held] = [:]
    for held in first where others[property(held.entry)] == nil {
      others[property(held.entry)] = held
    }
    var found: (node: HistoryNode, first: Entry, second: Entry)?
    for held in second {
      guard let other = others.removeValue(forKey: property(held.entry)) else { continue }
      let earlier = HistoryNode.isOlder(held.node, other.node) ? held.node : other.node
      if let found, HistoryNode.isOlder(earlier, found.node) { continue }
      found = (earlier, other.entry, held.entry)
    }
    return found.map { ($0.first, $0.second) }
  }
}
