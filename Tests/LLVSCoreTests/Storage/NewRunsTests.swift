import TestSupport
import Testing

@testable import LLVSCore

/// The runs of bytes that are not in older ones (`NewRuns`).
struct NewRunsTests {
  private func runs(_ new: [UInt8], _ base: [UInt8], _ limit: Int = .max / 2) -> NewRuns? {
    new.withUnsafeBytes { NewRuns(of: $0, after: base, atMost: limit) }
  }

  @Test("of a changed page the page is new, wherever the bytes around it are")
  func page() throws {
    var random = SeededRandom(seed: 1)
    let base = random.bytes(65_536)
    let page = random.bytes(4096)
    let new = random.bytes(100) + base[..<20_000] + page + base[24_096...]
    let found = try #require(runs(new, base))
    #expect(found.length >= 4190 && found.length <= 4200 && found.runs.count == 2)
    #expect(found.runs.contains { $0.contains(20_100) && $0.contains(24_195) })
    #expect(runs(new, base, 4000) == nil)
  }

  @Test("short, empty, equal and foreign bytes are found")
  func edges() throws {
    var random = SeededRandom(seed: 2)
    let base = random.bytes(10_000)
    #expect(runs(base, base)?.runs == [])
    #expect(runs([], base)?.runs == [])
    #expect(runs([1, 2, 3], base)?.runs == [0..<3])
    #expect(runs(base, [])?.runs == [0..<10_000])
    #expect(runs(random.bytes(5000), base, 2500) == nil)
    let zeros = [UInt8](repeating: 0, count: 50_000)
    #expect(runs(zeros, zeros)?.length == 0)
  }

  @Test("new bytes are the runs and the matched parts, in turn", arguments: 1...20)
  func whole(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let base = random.bytes(Int.random(in: 0...40_000, using: &random))
    var new: [UInt8] = []
    for _ in 0..<Int.random(in: 1...12, using: &random) {
      let start = Int.random(in: 0...base.count, using: &random)
      let end = Int.random(in: start...base.count, using: &random)
      new += base[start..<end].prefix(8000)
      new += random.bytes(Int.random(in: 0...3000, using: &random))
    }
    let found = try #require(runs(new, base))
    var made: [UInt8] = []
    var matched = found.matched[...]
    for run in found.runs + [new.count..<new.count] {
      while made.count < run.lowerBound, let part = matched.popFirst() { made += base[part] }
      #expect(made.count == run.lowerBound)
      made += new[run]
    }
    #expect(made == new && matched.isEmpty)
    #expect(found.length == found.runs.reduce(0) { $0 + $1.count })
    #expect(new.withUnsafeBytes { found.bytes(of: $0) } == found.runs.flatMap { new[$0] })
  }
}
