/// A dictionary of which copies are cheap: a copy and its original share what neither of them has changed since.
///
/// The elements are in small buckets, and the buckets in groups. The first change after a copy copies the list
/// of groups, one group and one bucket, and not all elements as `Dictionary` does. Buckets are split one by
/// one as elements come, so no single change moves all of them.
///
/// The order of the elements depends on their hashes and on the order in which they came.
package struct SharedMap<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A key and its value.
  package typealias Element = (key: Key, value: Value)
  typealias Bucket = ContiguousArray<Element>
  typealias Group = ContiguousArray<Bucket>

  /// The elements that a bucket has on average, at most.
  private static var fill: Int { 6 }
  static var groupBits: Int { 6 }
  private static var groupSize: Int { 1 << groupBits }

  private(set) var groups: ContiguousArray<Group> = []
  /// The number of buckets; those that are split already have twice the number of hashes to tell apart.
  private var buckets = 0
  /// The number of elements.
  package private(set) var count = 0

  /// Creates a map without elements.
  package init() {}

  /// True if there are no elements.
  package var isEmpty: Bool { count == 0 }

  // MARK: - Where an element is

  private struct Place {
    var group: Int
    var bucket: Int

    init(_ bucket: Int) {
      group = bucket >> groupBits
      self.bucket = bucket & (groupSize - 1)
    }
  }

  /// The bucket of a key. Needs at least one bucket.
  private func place(of key: Key) -> Place {
    let hash = key.hashValue
    let half = 1 << (Int.bitWidth - 1 - buckets.leadingZeroBitCount)
    let wide = hash & (half * 2 - 1)
    return Place(wide < buckets ? wide : hash & (half - 1))
  }

  private mutating func addBucket() {
    if buckets & (Self.groupSize - 1) == 0 { groups.append([]) }
    groups[groups.count - 1].append([])
    buckets += 1
    guard buckets > 1 else { return }
    // The new bucket takes its part of the one whose hashes it has been told apart from.
    let new = buckets - 1
    let old = Place(new - 1 << (Int.bitWidth - 1 - new.leadingZeroBitCount))
    let all = groups[old.group][old.bucket]
    groups[old.group][old.bucket] = []
    for element in all {
      let place = place(of: element.key)
      groups[place.group][place.bucket].append(element)
    }
  }

  // MARK: - Elements

  /// The value of a key; nil if there is none.
  ///
  /// - Complexity: O(1) on average; a change of a map that shares its elements with a copy copies O(√*n*) at most.
  package subscript(key: Key) -> Value? {
    get {
      guard count > 0 else { return nil }
      let place = place(of: key)
      return groups[place.group][place.bucket].first { $0.key == key }?.value
    }
    _modify {
      if buckets == 0 { addBucket() }
      let place = place(of: key)
      var value = take(key, at: place)
      let wasThere = value != nil
      defer {
        if let value {
          put(key, value, at: place, isNew: !wasThere)
        } else if wasThere {
          count -= 1
        }
      }
      yield &value
    }
  }

  /// The value of a key, or another if there is none, which a change then puts there.
  package subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
    get { self[key] ?? value() }
    _modify {
      if buckets == 0 { addBucket() }
      let place = place(of: key)
      let found = take(key, at: place)
      var changed = found ?? value()
      defer { put(key, changed, at: place, isNew: found == nil) }
      yield &changed
    }
  }

  private mutating func take(_ key: Key, at place: Place) -> Value? {
    guard let index = groups[place.group][place.bucket].firstIndex(where: { $0.key == key }) else {
      return nil
    }
    let last = groups[place.group][place.bucket].count - 1
    groups[place.group][place.bucket].swapAt(index, last)
    return groups[place.group][place.bucket].removeLast().value
  }

  private mutating func put(_ key: Key, _ value: Value, at place: Place, isNew: Bool) {
    groups[place.group][place.bucket].append((key, value))
    guard isNew else { return }
    count += 1
    if count > buckets * Self.fill { addBucket() }
  }

  /// The keys.
  package var keys: some Sequence<Key> { lazy.map(\.key) }

  /// The values.
  package var values: some Sequence<Value> { lazy.map(\.value) }
}

extension SharedMap: Sequence {
  /// Elements one after the other.
  package struct Iterator: IteratorProtocol {
    let groups: ContiguousArray<Group>
    var group = 0
    var bucket = 0
    var element = 0

    /// Returns the next element.
    package mutating func next() -> Element? {
      while group < groups.count {
        while bucket < groups[group].count {
          if element < groups[group][bucket].count {
            defer { element += 1 }
            return groups[group][bucket][element]
          }
          (bucket, element) = (bucket + 1, 0)
        }
        (group, bucket, element) = (group + 1, 0, 0)
      }
      return nil
    }
  }

  /// Returns the elements one after the other, as they are now.
  package func makeIterator() -> Iterator { Iterator(groups: groups) }

  package var underestimatedCount: Int { count }
}

extension SharedMap: Equatable where Value: Equatable {
  /// Returns true if two maps have the same elements, in any order.
  package static func == (a: Self, b: Self) -> Bool {
    a.count == b.count && a.allSatisfy { b[$0.key] == $0.value }
  }
}

extension SharedMap: Hashable where Value: Hashable {
  package func hash(into hasher: inout Hasher) { hasher.combine(count) }
}
