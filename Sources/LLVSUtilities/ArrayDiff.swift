/// The difference between two arrays, as deletions and insertions; two can be merged.
public struct ArrayDiff<T: Equatable>: Equatable {
  public enum IncrementalChange: Equatable {
    case insert(finalIndex: Int, value: T)
    case delete(originalIndex: Int, value: T)

    public var isDeletion: Bool { if case .delete = self { true } else { false } }
    public var isInsertion: Bool { !isDeletion }

    /// The index, in the original array of a deletion and in the final one of an insertion.
    public var index: Int {
      switch self {
      case .delete(let index, _), .insert(let index, _): index
      }
    }
  }

  /// Deletions from the end to the beginning, then insertions from the beginning to the end: in this order
  /// they turn the original array into the final one.
  public private(set) var incrementalChanges: [IncrementalChange]

  public init(withChanges incrementalChanges: [IncrementalChange]) {
    self.incrementalChanges = incrementalChanges
  }

  /// Computes the difference of two arrays by their longest common subsequence.
  /// - Complexity: O(*n* · *d*) for arrays of *n* elements with *d* differences.
  public init(originalValues: [T], finalValues: [T]) {
    let difference = finalValues.difference(from: originalValues)
    var deletions: [IncrementalChange] = []
    var insertions: [IncrementalChange] = []
    for change in difference {
      switch change {
      case .remove(let offset, let element, _):
        deletions.append(.delete(originalIndex: offset, value: element))
      case .insert(let offset, let element, _):
        insertions.append(.insert(finalIndex: offset, value: element))
      }
    }
    deletions.sort { $0.index > $1.index }
    insertions.sort { $0.index < $1.index }
    incrementalChanges = deletions + insertions
  }

  /// Merges two differences from one array; insertions of both at one place are in the order of the arguments.
  public init(merging first: ArrayDiff, with second: ArrayDiff) {
    var deleted: [Int: T] = [:]
    var inserted: [Int: [T]] = [:]
    for diff in [first, second] {
      for case .delete(let index, let value) in diff.incrementalChanges { deleted[index] = value }
      for (anchor, values) in diff.insertionsByAnchor { inserted[anchor, default: []] += values }
    }
    incrementalChanges = deleted.sorted { $0.key > $1.key }
      .map { .delete(originalIndex: $0.key, value: $0.value) }
    let gone = deleted.keys.sorted()
    var count = 0
    for (anchor, values) in inserted.sorted(by: { $0.key < $1.key }) {
      // The originals up to the anchor that are left, and the insertions before.
      let left = anchor + 1 - gone.prefix { $0 <= anchor }.count
      for value in values {
        incrementalChanges.append(.insert(finalIndex: left + count, value: value))
        count += 1
      }
    }
  }

  /// Insertions by the index of the original element before them; -1 at the beginning.
  private var insertionsByAnchor: [Int: [T]] {
    let deleted = Set(incrementalChanges.filter(\.isDeletion).map(\.index))
    var result: [Int: [T]] = [:]
    var (anchor, kept, count) = (-1, 0, 0)
    for case .insert(let index, let value) in incrementalChanges {
      while kept < index - count {
        anchor += 1
        if !deleted.contains(anchor) { kept += 1 }
      }
      result[anchor, default: []].append(value)
      count += 1
    }
    return result
  }
}

extension ArrayDiff: Sendable where T: Sendable {}
extension ArrayDiff.IncrementalChange: Sendable where T: Sendable {}

extension Array where Element: Equatable {
  public func diff(leadingTo newArray: [Element]) -> ArrayDiff<Element> {
    ArrayDiff(originalValues: self, finalValues: newArray)
  }

  public func applying(_ arrayDiff: ArrayDiff<Element>) -> [Element] {
    var array = self
    array.apply(arrayDiff)
    return array
  }

  public mutating func apply(_ arrayDiff: ArrayDiff<Element>) {
    for change in arrayDiff.incrementalChanges { apply(change) }
  }

  /// Applies a change; an index outside deletes nothing or appends.
  public mutating func apply(_ change: ArrayDiff<Element>.IncrementalChange) {
    switch change {
    case .delete(let index, _):
      if indices.contains(index) { remove(at: index) }
    case .insert(let index, let value):
      insert(value, at: Swift.min(Swift.max(0, index), count))
    }
  }
}
