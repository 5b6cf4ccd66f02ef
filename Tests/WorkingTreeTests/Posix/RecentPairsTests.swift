import TestSupport
import Testing

@testable import WorkingTree

@Suite("The last values of pairs of a place and a process")
struct RecentPairsTests {
  @Test("places have the values of one process and of several, as a dictionary has them")
  func compared() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    var pairs = RecentPairs<Int, Int>()
    var expected: [Int: [Int32: Int]] = [:]
    for step in 0..<5_000 {
      let place = Int.random(in: 0..<20, using: &random)
      let process = Int32.random(in: 1...3, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0...2:
        pairs.set(step, process, at: place)
        expected[place, default: [:]][process] = step
      case 3...6:
        #expect(pairs.remove(process, at: place) == expected[place]?[process], "seed \(seed)")
        expected[place]?[process] = nil
      default:
        pairs.removeAll(at: place)
        expected[place] = nil
      }
      #expect(pairs.values(at: place) == expected[place] ?? [:], "seed \(seed)")
      #expect(pairs.value(process, at: place) == expected[place]?[process], "seed \(seed)")
      #expect(pairs.count == expected.values.reduce(0) { $0 + $1.count }, "seed \(seed)")
    }
  }
}
