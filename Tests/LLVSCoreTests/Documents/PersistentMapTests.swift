import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite("Maps whose copies share what is equal", .timeLimit(.minutes(1)))
struct PersistentMapTests {
  /// A key of which several have one hash.
  private struct Word: Hashable {
    var number: Int

    func hash(into hasher: inout Hasher) { hasher.combine(number / 4) }
  }

  @Test("a map and its copies have what was set in each", arguments: 0..<20)
  func copies(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var map = PersistentMap<Word, Int>()
    var model: [Word: Int] = [:]
    for round in 0..<12 {
      let before = (map, model)
      var changes: [Word: Int] = [:]
      for _ in 0..<Int.random(in: 0...(round * 40), using: &random) {
        changes[Word(number: Int.random(in: 0..<3000, using: &random))] = round
      }
      for (key, value) in changes { map[key] = value }
      model.merge(changes) { $1 }
      if let gone = model.keys.randomElement(using: &random) {
        map[gone] = nil
        model[gone] = nil
      }
      for (map, model) in [(map, model), before] {
        var all: [Word: Int] = [:]
        map.forEach { all[$0] = $1 }
        #expect(all == model)
        #expect(map.count == model.count)
        #expect(model.allSatisfy { map[$0.key] == $0.value })
      }
    }
  }
}
