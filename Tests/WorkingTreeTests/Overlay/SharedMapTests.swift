import TestSupport
import Testing

@testable import WorkingTree

extension Int: SharedKey {}

@Suite("Maps and sets with cheap copies")
struct SharedMapTests {
  /// A key of which hashes meet often.
  private struct Key: SharedKey {
    let number: Int

    func hash(into hasher: inout Hasher) { hasher.combine(number % 50) }
  }

  private func check(
    _ map: SharedMap<Key, [Int]>, _ expected: [Key: [Int]], _ note: String
  ) {
    #expect(map.count == expected.count && map.isEmpty == expected.isEmpty, "\(note)")
    var found: [Key: [Int]] = [:]
    for (key, value) in map { #expect(found.updateValue(value, forKey: key) == nil, "\(note)") }
    #expect(found == expected, "\(note)")
    for number in 0..<200 {
      let key = Key(number: number)
      #expect(map[key] == expected[key], "\(note)")
    }
    #expect(Set(map.keys) == Set(expected.keys), "\(note)")
    #expect(map.values.reduce(0) { $0 + $1.count } == expected.values.reduce(0) { $0 + $1.count })
  }

  @Test("what differs from a copy is found in the parts that the copy does not share")
  func differences() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    var map = SharedMap<Int, Int>()
    for number in 0..<5_000 { map[number] = number }
    for round in 0..<30 {
      let copy = map
      let changes = Int.random(in: 0..<50, using: &random)
      for step in 0..<changes {
        let key = Int.random(in: 0..<5_500, using: &random)
        map[key] = step % 3 == 0 ? nil : round * 100 + step
      }
      var found: [Int: (old: Int?, new: Int?)] = [:]
      map.forEachDifference(from: copy) { key, old, new in
        #expect(found.updateValue((old, new), forKey: key) == nil, "seed \(seed)")
      }
      for key in 0..<5_500 where copy[key] != map[key] || found[key] != nil {
        #expect(found[key]?.old == copy[key] && found[key]?.new == map[key], "seed \(seed)")
      }
      #expect(found.count <= 50 * changes, "seed \(seed)")
    }
  }

  @Test("a map says what a dictionary says, and so do its copies, whoever is changed")
  func map() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    var map = SharedMap<Key, [Int]>()
    var expected: [Key: [Int]] = [:]
    var copies: [(map: SharedMap<Key, [Int]>, expected: [Key: [Int]])] = []
    for step in 0..<3_000 {
      let key = Key(number: Int.random(in: 0..<200, using: &random))
      switch Int.random(in: 0..<7, using: &random) {
      case 0, 1: (map[key], expected[key]) = ([step], [step])
      case 2: (map[key], expected[key]) = (nil, nil)
      case 3:
        map[key]?.append(step)
        expected[key]?.append(step)
      case 4:
        map[key, default: []].append(step)
        expected[key, default: []].append(step)
      case 5 where copies.count < 8: copies.append((map, expected))
      case 6 where !copies.isEmpty:
        // The copy goes on, and what it was copied from stays.
        let index = Int.random(in: 0..<copies.count, using: &random)
        swap(&map, &copies[index].map)
        swap(&expected, &copies[index].expected)
      default: break
      }
      #expect(map[key] == expected[key], "step \(step), seed \(seed)")
      if step % 300 == 0 {
        check(map, expected, "step \(step), seed \(seed)")
        for copy in copies { check(copy.map, copy.expected, "step \(step), seed \(seed)") }
      }
    }
    for copy in copies {
      #expect((map == copy.map) == (expected == copy.expected))
    }
  }

  @Test("maps with the same elements are equal, in whatever order these came")
  func equality() {
    var (one, other) = (SharedMap<Int, Int>(), SharedMap<Int, Int>())
    for number in 0..<500 { one[number] = number }
    for number in (0..<600).reversed() { other[number] = number }
    #expect(one != other)
    for number in 500..<600 { other[number] = nil }
    #expect(one == other)
    other[7] = 8
    #expect(one != other)
  }

  @Test("a map may be changed while it is gone through as it was")
  func changedWhileIterated() {
    var map = SharedMap<Int, Int>()
    for number in 0..<1_000 { map[number] = number }
    var seen = 0
    for (key, value) in map {
      #expect(key == value)
      map[key] = nil
      map[key + 1_000] = 0
      seen += 1
    }
    #expect(seen == 1_000 && map.count == 1_000)
  }

  @Test("a set says what a set says")
  func set() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    var set = SharedSet<Int>()
    var expected: Set<Int> = []
    for _ in 0..<2_000 {
      let member = Int.random(in: 0..<300, using: &random)
      if Int.random(in: 0..<3, using: &random) == 0 {
        set.remove(member)
        expected.remove(member)
      } else {
        set.insert(member)
        expected.insert(member)
      }
      #expect(set.contains(member) == expected.contains(member), "seed \(seed)")
    }
    #expect(Set(set) == expected && set.count == expected.count, "seed \(seed)")
  }
}
