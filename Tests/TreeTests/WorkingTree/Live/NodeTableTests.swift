import LLVSCore
import TestSupport
import Testing

@testable import MountedTree

@Suite(.timeLimit(.minutes(1)))
struct NodeTableTests {
  private static func node(_ inode: UInt64) -> LiveNode {
    LiveNode(
      inode: inode, kind: .regular, parent: nil, name: [], entry: nil, attributes: Attributes(),
      ctime: Attributes.Time(seconds: 0, nanoseconds: 0), directory: nil)
  }

  /// Numbers as stores give them, with strides, and of all sizes.
  private static func numbers(_ random: inout SeededRandom) -> [UInt64] {
    let count = 1 + random.next() % 700
    switch random.next() % 4 {
    case 0: return (0..<count).map { 1 + $0 }
    case 1: return (0..<count).map { $0 << 12 }
    case 2: return (0..<count).map { $0 << 48 | 7 }
    default: return (0..<count).map { _ in random.next() }
    }
  }

  @Test("It holds what a dictionary holds, whatever comes and goes", arguments: 0..<40)
  func model(_ seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let numbers = Self.numbers(&random)
    var table = NodeTable()
    var model: [UInt64: LiveNode] = [:]
    for step in 0..<6000 {
      let number = numbers[Int(random.next() % UInt64(numbers.count))]
      // Now more come than go, now fewer.
      if random.next() % 100 < (step / 500 % 2 == 0 ? 70 : 30) {
        let node = Self.node(number)
        table.insert(node)
        model[number] = node
      } else {
        table.remove(number)
        model[number] = nil
      }
      #expect(table.count == model.count)
      #expect(table[number] === model[number])
      guard step % 500 == 0 else { continue }
      for number in numbers { #expect(table[number] === model[number]) }
      let all = Array(table.values)
      #expect(all.count == model.count)
      #expect(all.allSatisfy { $0 === model[$0.inode] })
    }
  }

  @Test("A copy stays what it was")
  func copies() {
    var table = NodeTable()
    for number in 0..<100 as Range<UInt64> { table.insert(Self.node(number)) }
    let copy = table
    for node in table.values { table.remove(node.inode) }
    #expect(table.count == 0 && Array(table.values).isEmpty)
    #expect(copy.count == 100 && (0..<100).allSatisfy { copy[$0]?.inode == $0 })
  }

  @Test("It takes no more places than it needs, also where most went or many came and went")
  func room() {
    let count: UInt64 = 200_000
    var table = NodeTable()
    for number in 0..<count { table.insert(Self.node(number)) }
    #expect(table.capacity == 1 << 18)
    for number in 0..<count where number % 100 > 0 { table.remove(number) }
    #expect(table.count == 2000 && table.capacity <= 1 << 16)
    for number in 0..<count { #expect((table[number] == nil) == (number % 100 > 0)) }
    for number in count..<2 * count {
      table.insert(Self.node(number))
      table.remove(number)
    }
    #expect(table.count == 2000 && table.capacity <= 1 << 16)
    for number in 0..<count / 100 { #expect(table[number * 100]?.inode == number * 100) }
  }
}
