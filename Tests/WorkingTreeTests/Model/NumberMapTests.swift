import Inodes
import TestSupport
import Testing

@testable import WorkingTree

@Suite("Maps of small values by inode number")
struct NumberMapTests {
  private func check(_ map: NumberMap<Int>, _ expected: [InodeNumber: Int], _ note: String) {
    #expect(map.count == expected.count && map.isEmpty == expected.isEmpty, "\(note)")
    #expect(Set(map.numbers) == Set(expected.keys), "\(note)")
    for number in 1...300 as ClosedRange<UInt64> {
      let number = InodeNumber(number)
      #expect(map[number] == expected[number], "\(note)")
      #expect(map.contains(number) == (expected[number] != nil), "\(note)")
    }
  }

  @Test("a map has what a dictionary has, while numbers come and go", arguments: 0..<20)
  func compared(round: Int) {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    var map = NumberMap(filler: -1)
    var expected: [InodeNumber: Int] = [:]
    for step in 0..<2_000 {
      // Many numbers for a time, then few: the map grows and shrinks.
      let isGrowing = step / 500 % 2 == 0
      let number = InodeNumber(UInt64.random(in: 1...300, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        map.change(number, default: 0) { $0 += step }
        expected[number, default: 0] += step
      case 1:
        let isThere = map.change(number) { $0 += 1 } != nil
        #expect(isThere == (expected[number] != nil))
        expected[number]? += 1
      case 2...3 where isGrowing:
        map[number] = step
        expected[number] = step
      default:
        map[number] = nil
        expected[number] = nil
      }
      if step % 100 == 0 { check(map, expected, "seed \(seed), step \(step)") }
    }
    check(map, expected, "seed \(seed)")
  }

  @Test("a copy keeps what it has")
  func copied() {
    var map = NumberMap(filler: 0)
    map[InodeNumber(5)] = 1
    let copy = map
    map[InodeNumber(5)] = 2
    map[InodeNumber(6)] = 3
    #expect(copy[InodeNumber(5)] == 1 && copy[InodeNumber(6)] == nil && copy.count == 1)
  }

  @Test("the number 0, which no inode has, has no value")
  func zero() {
    var map = NumberMap(filler: 0)
    map[InodeNumber(1)] = 1
    map[InodeNumber(0)] = nil
    #expect(map[InodeNumber(0)] == nil && map.count == 1)
  }
}
