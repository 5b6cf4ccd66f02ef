package import Inodes
import LLVSCore

package protocol SharedKey: Hashable, Sendable {
  /// All bits of the hash distinguish keys.
  var sharedHash: Int { get }
}

extension SharedKey {
  /// Swift's seeded hash.
  package var sharedHash: Int { hashValue }
}

/// The key of the hashes of names, so that no program can make names with equal ones.
private let nameKey = UInt64.random(in: .min ... .max)

extension FileName: SharedKey {
  /// A keyed XXH3-64, in a quarter of the time of Swift's hash.
  package var sharedHash: Int {
    bytes.withUnsafeBytes { Int(truncatingIfNeeded: Checksum.of($0, seed: nameKey)) }
  }
}

extension InodeName: SharedKey {
  package var sharedHash: Int { directory._rawHashValue(seed: name.sharedHash) }
}

extension InodeNumber: SharedKey {
  package var sharedHash: Int { _rawHashValue(seed: 0) }
}

/// A dictionary with cheap copies: a copy and its original share unchanged elements.
///
/// The elements are in small buckets, the buckets in groups. The first change after a copy copies the list of
/// groups, one group and one bucket. Buckets are split one by one, so no change moves all elements. The order
/// depends on hashes and insertions.
package struct SharedMap<Key: SharedKey, Value: Sendable>: Sendable {
  package typealias Element = (key: Key, value: Value)
  typealias Bucket = ContiguousArray<Slot>
  typealias Group = ContiguousArray<Bucket>

  /// An element; its value is nil only during a change.
  struct Slot: Sendable {
    /// Kept so that splitting a bucket hashes no key again.
    let hash: Int
    let key: Key
    var value: Value?
  }

  /// The most elements per bucket on average.
  private static var fill: Int { 6 }
  static var groupBits: Int { 6 }
  private static var groupSize: Int { 1 << groupBits }
  private(set) var groups: ContiguousArray<Group> = []
  /// The number of buckets; those already split use one more bit of the hashes.
  private var buckets = 0
  package private(set) var count = 0
  package init() {}
  package var isEmpty: Bool { count == 0 }

  private struct Place {
    var group: Int
    var bucket: Int

    init(_ bucket: Int) {
      group = bucket >> groupBits
      self.bucket = bucket & (groupSize - 1)
    }
  }

  /// Needs at least one bucket.
  private func place(of hash: Int) -> Place {
    let half = 1 << (Int.bitWidth - 1 - buckets.leadingZeroBitCount)
    let wide = hash & (half * 2 - 1)
    return Place(wide < buckets ? wide : hash & (half - 1))
  }

  private mutating func addBucket() {
    if buckets & (Self.groupSize - 1) == 0 {
      groups.append([])
      if buckets > 0 { groups[groups.count - 1].reserveCapacity(Self.groupSize) }
    }
    groups[groups.count - 1].append([])
    buckets += 1
    guard buckets > 1 else { return }
    // The new bucket takes its part of the bucket that is split.
    let new = buckets - 1
    let old = Place(new - 1 << (Int.bitWidth - 1 - new.leadingZeroBitCount))
    var all = Bucket()
    swap(&all, &groups[old.group][old.bucket])
    let to = Place(new)
    groups[old.group][old.bucket].reserveCapacity(Self.fill + 2)
    groups[to.group][to.bucket].reserveCapacity(Self.fill + 2)
    for element in all {
      let place = place(of: element.hash)
      groups[place.group][place.bucket].append(element)
    }
  }

  /// - Complexity: O(1) on average; a change of a map that shares elements with a copy copies O(√*n*) at most.
  package subscript(key: Key) -> Value? {
    get { read(key) { $0 } }
    set {
      if buckets == 0 { addBucket() }
      let hash = key.sharedHash
      let place = place(of: hash)
      switch (index(of: key, hash, at: place), newValue) {
      case (nil, nil): break
      case (let index?, let value?): groups[place.group][place.bucket][index].value = value
      case (let index?, nil): remove(at: index, place)
      case (nil, let value?): insert(key, hash, value, at: place)
      }
    }
    _modify {
      if buckets == 0 { addBucket() }
      let hash = key.sharedHash
      let place = place(of: hash)
      if let index = index(of: key, hash, at: place) {
        // The element is changed in place; its value is nil only until its removal here.
        defer {
          if case .none = groups[place.group][place.bucket][index].value {
            remove(at: index, place)
          }
        }
        yield &groups[place.group][place.bucket][index].value
      } else {
        var value: Value?
        defer { if let value { insert(key, hash, value, at: place) } }
        yield &value
      }
    }
  }

  /// Returns what `body` returns for the value of a key, without copying the value; nil without a value.
  @inline(__always) func read<R>(_ key: Key, _ body: (Value) -> R?) -> R? {
    guard count > 0 else { return nil }
    let hash = key.sharedHash
    let place = place(of: hash)
    return withSlots(at: place) { slots in
      for index in slots.indices where slots[index].hash == hash && slots[index].key == key {
        return slots[index].value.flatMap(body)
      }
      return nil
    }
  }

  package func contains(_ key: Key) -> Bool {
    guard count > 0 else { return false }
    let hash = key.sharedHash
    return index(of: key, hash, at: place(of: hash)) != nil
  }

  package subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
    get { self[key] ?? value() }
    _modify {
      if buckets == 0 { addBucket() }
      let hash = key.sharedHash
      let place = place(of: hash)
      let found = index(of: key, hash, at: place)
      var changed: Value
      if let found, let old = groups[place.group][place.bucket][found].value {
        changed = old
        // The only reference to a value allows changing it without a copy.
        groups[place.group][place.bucket][found].value = nil
      } else {
        changed = value()
      }
      defer {
        if let found {
          groups[place.group][place.bucket][found].value = changed
        } else {
          insert(key, hash, changed, at: place)
        }
      }
      yield &changed
    }
  }

  /// Changes the value of a key, which without one is `value`. Other than an accessor it allocates no frame.
  mutating func change<R>(
    _ key: Key, default value: @autoclosure () -> Value, _ body: (inout Value) -> R
  ) -> R {
    if buckets == 0 { addBucket() }
    let hash = key.sharedHash
    let place = place(of: hash)
    guard let index = index(of: key, hash, at: place),
      var changed = groups[place.group][place.bucket][index].value
    else {
      var new = value()
      defer { insert(key, hash, new, at: place) }
      return body(&new)
    }
    // The only reference to a value allows changing it without a copy.
    groups[place.group][place.bucket][index].value = nil
    defer { groups[place.group][place.bucket][index].value = changed }
    return body(&changed)
  }

  /// Returns the object of a key, after `copied` replaced an object that a copy of the map shares; nil without one.
  mutating func unshared(
    _ key: Key, _ copied: (Value) -> Value
  ) -> Value? where Value: AnyObject {
    guard count > 0 else { return nil }
    let hash = key.sharedHash
    let place = place(of: hash)
    guard let index = index(of: key, hash, at: place) else { return nil }
    return Self.unshared(&groups[place.group][place.bucket][index].value, copied)
  }

  private static func unshared(
    _ value: inout Value?, _ copied: (Value) -> Value
  ) -> Value? where Value: AnyObject {
    if !isKnownUniquelyReferenced(&value) { value = value.map(copied) }
    return value
  }

  private func index(of key: Key, _ hash: Int, at place: Place) -> Int? {
    withSlots(at: place) { slots in
      for index in slots.indices where slots[index].hash == hash && slots[index].key == key {
        return index
      }
      return nil
    }
  }

  /// Pointers avoid copying the group, the bucket or an element.
  @inline(__always)
  private func withSlots<R>(at place: Place, _ body: (UnsafeBufferPointer<Slot>) -> R) -> R {
    groups.withUnsafeBufferPointer { groups in
      groups[place.group].withUnsafeBufferPointer { buckets in
        buckets[place.bucket].withUnsafeBufferPointer(body)
      }
    }
  }

  private mutating func insert(_ key: Key, _ hash: Int, _ value: Value, at place: Place) {
    groups[place.group][place.bucket].append(Slot(hash: hash, key: key, value: value))
    count += 1
    if count > buckets * Self.fill { addBucket() }
  }

  /// Inserts a value unless the key has one; copies go on sharing what has not changed.
  mutating func insert(_ value: @autoclosure () -> Value, ifAbsent key: Key) {
    if buckets == 0 { addBucket() }
    let hash = key.sharedHash
    let place = place(of: hash)
    if index(of: key, hash, at: place) == nil { insert(key, hash, value(), at: place) }
  }

  private mutating func remove(at index: Int, _ place: Place) {
    let last = groups[place.group][place.bucket].count - 1
    if index < last { groups[place.group][place.bucket].swapAt(index, last) }
    groups[place.group][place.bucket].removeLast()
    count -= 1
  }

  package var keys: some Sequence<Key> { lazy.map(\.key) }
  package var values: some Sequence<Value> { lazy.map(\.value) }
}

extension SharedMap: Sequence {
  package struct Iterator: IteratorProtocol {
    private let groups: ContiguousArray<Group>
    private var group = 0
    private var bucket = 0
    private var element = 0
    private var slots: Bucket = []
    fileprivate init(groups: ContiguousArray<Group>) { self.groups = groups }

    package mutating func next() -> Element? {
      while true {
        while element < slots.count {
          let slot = slots[element]
          element += 1
          if let value = slot.value { return (slot.key, value) }
        }
        guard group < groups.count else { return nil }
        guard bucket < groups[group].count else {
          (group, bucket) = (group + 1, 0)
          continue
        }
        (slots, element) = (groups[group][bucket], 0)
        bucket += 1
      }
    }
  }

  package func makeIterator() -> Iterator { Iterator(groups: groups) }
  package var underestimatedCount: Int { count }
}

extension SharedMap: Equatable where Value: Equatable {
  package static func == (a: Self, b: Self) -> Bool {
    a.count == b.count && a.allSatisfy { b[$0.key] == $0.value }
  }
}
