import TestSupport
import Testing

@testable import LLVSCore

struct KeepPolicyTests {
  private static let day = 86_400.0

  private func kept(
    _ policy: String, _ times: [Double], line: String = "-", now: Double
  ) throws -> [UInt32] {
    var choice = KeepPolicy.Choice(try KeepPolicy(policy), at: now)
    for (index, time) in times.enumerated() {
      choice.add(
        KeepPolicy.Candidate(
          number: VersionNumber(UInt32(index + 1)), line: line, time: time, storedAt: 0,
          id: Version.ID("\(index)")))
    }
    return choice.kept.map(\.rawValue).sorted()
  }

  @Test("the last version of each day and week is kept for as long as the policy says")
  func periods() throws {
    // A Monday.
    let start = 19_723 * Self.day
    // Four versions a day for 40 days.
    let times = (0..<160).map { start + Double($0) * Self.day / 4 }
    let now = start + 40 * Self.day
    #expect(try kept("all", times, now: now).count == 160)
    #expect(try kept("all:2d", times, now: now) == Array(153...160))
    #expect(try kept("daily:5d", times, now: now) == [144, 148, 152, 156, 160])
    #expect(try kept("weekly", times, now: now) == [28, 56, 84, 112, 140, 160])
    #expect(
      try kept("all:1d daily:3d,weekly:9d", times, now: now) == [140, 152, 156, 157, 158, 159, 160])
    #expect(try kept("hourly:1d", times, now: now) == [157, 158, 159, 160])
  }

  @Test("the text of a policy means the same policy, and its clauses say it")
  func text() throws {
    for (words, text) in [
      ("all", "all"), ("weekly:5y all:30d daily:1y", "all:30d,daily:1y,weekly:5y"),
      ("hourly all:90m", "all:90m,hourly"), ("all:0s", "all:0s"), ("daily:14d", "daily:2w"),
    ] {
      let policy = try KeepPolicy(words)
      #expect(policy.text == text)
      #expect(try KeepPolicy(policy.text) == policy)
    }
    #expect(
      try KeepPolicy("all:30d daily").clauses
        == ["every version for 30d", "the last version of each day"])
  }

  @Test("a word that is given twice is refused for that")
  func repeated() {
    do throws(StoreError) {
      _ = try KeepPolicy("all:1s daily all:2s")
      Issue.record("it was accepted")
    } catch {
      #expect(error.message == "\"all:2s\" repeats \"all\", which may be given once")
    }
  }

  @Test("lines are kept apart, and of one time the greater id")
  func lines() throws {
    var choice = KeepPolicy.Choice(try KeepPolicy("daily"), at: 10)
    for (number, line, id) in [(1, "a", "x"), (2, "a", "w"), (3, "b", "a")]
      as [(UInt32, String, String)]
    {
      choice.add(
        KeepPolicy.Candidate(
          number: VersionNumber(number), line: line, time: 5, storedAt: 5, id: Version.ID(id)))
    }
    #expect(choice.kept == [VersionNumber(1), VersionNumber(3)])
  }

  @Test("a policy kept for longer keeps more, at every time", arguments: 1...4)
  func monotonic(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let times = (0..<200).map { _ in Double.random(in: 0...5_000_000, using: &random) }
    let short = Set(try kept("all:5d hourly:9d weekly:30d", times, now: 5_000_000))
    let long = Set(try kept("all:6d hourly:9d daily:10d weekly:40d", times, now: 5_000_000))
    #expect(short.isSubset(of: long))
    // What is kept later was kept before.
    #expect(Set(try kept("all:5d hourly:9d weekly:30d", times, now: 5_700_000)).isSubset(of: short))
  }

  @Test(
    "a word without a meaning is named",
    arguments: [
      "", "daily:", "daily:1", "all:d", "all:-1d", "all:+1d", "monthly:1y", "all:1d all:2d", "1d",
    ])
  func refused(text: String) throws {
    #expect(throws: StoreError.self) { try KeepPolicy(text) }
  }

  @Test("ranges are joined, found, and read as they were written", arguments: 1...20)
  func ranges(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var gone = GoneRanges()
    var bytes: Set<UInt64> = []
    for _ in 0..<5 {
      var more: [Range<UInt64>] = []
      for _ in 0..<10 {
        let start = UInt64.random(in: 0..<300, using: &random)
        more.append(start..<(start + UInt64.random(in: 1...9, using: &random)))
      }
      gone.formUnion(more)
      for range in more { bytes.formUnion(range) }
      #expect(gone.length == UInt64(bytes.count))
      for offset: UInt64 in 0..<320 { #expect(gone.contains(offset) == bytes.contains(offset)) }
      #expect(GoneRanges(gone.encoded) == gone)
    }
    var short = gone.encoded
    short.removeLast()
    #expect(GoneRanges(short) == nil)
  }
}
