import Foundation
import KeyValueCRDT
import TestSupport
import Testing

/// A database as the rules say it, in plain sets.
private struct Model {
  struct Version: Hashable {
    var key: ScopedKey
    var author: UUID
    var usn: Int
    var value: Value
  }

  var versions: Set<Version> = []
  var known: [UUID: Int] = [:]

  mutating func write(_ values: [ScopedKey: Value], by author: UUID, usn: Int) {
    versions = versions.filter { values[$0.key] == nil }
    for (key, value) in values {
      versions.insert(Version(key: key, author: author, usn: usn, value: value))
    }
    known[author] = usn
  }

  func covers(_ version: Version) -> Bool { (known[version.author] ?? 0) >= version.usn }

  mutating func merge(_ other: Model) -> Set<ScopedKey> {
    let kept = versions.filter { other.versions.contains($0) || !other.covers($0) }
    let taken = other.versions.filter { versions.contains($0) || !covers($0) }
    let now = kept.union(taken)
    let changed = Set(now.symmetricDifference(versions).map(\.key))
    versions = now
    known.merge(other.known) { max($0, $1) }
    return changed
  }

  var lines: Set<String> { Set(versions.map { "\($0.key) \($0.author) \($0.value)" }) }
}

private func lines(_ database: KeyValueDatabase) throws -> Set<String> {
  Set(
    try database.bulkRead().flatMap { key, versions in
      versions.map { "\(key) \($0.authorID) \($0.value)" }
    })
}

@Suite("Random histories", .timeLimit(.minutes(5)))
struct ModelTests {
  /// `LLVS_TEST_DOCUMENTS` says how many histories are played, `LLVS_TEST_SEED` which one alone.
  private static let seeds: ClosedRange<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed...seed }
    return 1...max(environment["LLVS_TEST_DOCUMENTS"].flatMap { UInt64($0) } ?? 60, 1)
  }()

  @Test("agree with a simple model at every step, and all copies come to hold the same")
  func agreeWithModel() throws {
    for seed in Self.seeds {
      do {
        try play(seed)
      } catch {
        Issue.record("seed \(seed): \(error)")
      }
    }
  }

  private func play(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let count = Int.random(in: 2...5, using: &random)
    var databases = try (0..<count).map {
      try KeyValueDatabase(fileURL: nil, authorDescription: "device \($0)")
    }
    var models = Array(repeating: Model(), count: count)
    let keys = (0..<5).map { ScopedKey(scope: $0 % 2 == 0 ? "" : "s", key: "k\($0)") }
    for step in 0..<40 {
      let index = Int.random(in: 0..<count, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        var values: [ScopedKey: Value] = [:]
        for key in keys.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)) {
          values[key] = Self.value(step, &random)
        }
        let usn = try databases[index].bulkWrite(values)
        models[index].write(values, by: databases[index].instanceID, usn: usn)
      case 5..<9:
        let other = Int.random(in: 0..<count, using: &random)
        let expected = models[index].merge(models[other])
        let dry = try databases[index].merge(source: databases[other], dryRun: true)
        let changed = try databases[index].merge(source: databases[other])
        #expect(changed == expected && dry == expected, "seed \(seed), step \(step)")
      default:
        // The file is opened anew: another author.
        databases[index] = try KeyValueDatabase(
          databaseWriter: try databases[index].makeMemoryDatabaseQueue(),
          authorDescription: "device \(index)")
      }
      #expect(try lines(databases[index]) == models[index].lines, "seed \(seed), step \(step)")
    }
    // A ring twice around: everybody has heard of everything.
    for _ in 0..<2 {
      for index in 0..<count {
        let next = (index + 1) % count
        try databases[next].merge(source: databases[index])
        _ = models[next].merge(models[index])
      }
    }
    let last = try lines(databases[0])
    for index in 0..<count {
      #expect(try lines(databases[index]) == last, "seed \(seed)")
      #expect(models[index].lines == last, "seed \(seed)")
      #expect(try databases[index].verify() == [], "seed \(seed)")
      #expect(try Self.tombstonesAreSingle(databases[index]), "seed \(seed)")
    }
  }

  private static func value(_ step: Int, _ random: inout SeededRandom) -> Value {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: .null
    case 1: .json("{\"step\": \(step)}")
    case 2: .blob(mimeType: "image/png", blob: Data(random.bytes(step)))
    default: .text("step \(step) of many words")
    }
  }

  /// After a merge there is one note at most for each author of a key.
  private static func tombstonesAreSingle(_ database: KeyValueDatabase) throws -> Bool {
    try database.read { block in
      try block.rows(
        sql: """
          SELECT 1 FROM tombstone t JOIN entry e USING (scope, key, authorId)
          WHERE e.usn <= t.usn
          """
      ).isEmpty
    }
  }

  @Test("merges in any order and grouping give one result, and merging again changes nothing")
  func lawsOfJoin() throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      var random = SeededRandom(seed: seed)
      let start = try KeyValueDatabase(fileURL: nil, authorDescription: "start")
      try start.bulkWrite(["a": "0", "b": "0", "c": "0"])
      let copies = try (0..<3).map { number in
        let copy = try KeyValueDatabase(
          databaseWriter: try start.makeMemoryDatabaseQueue(), authorDescription: "\(number)")
        for key in ["a", "b", "c", "d"] where Bool.random(using: &random) {
          try copy.writeText("\(number)", to: key)
        }
        return copy
      }
      func clone(_ database: KeyValueDatabase) throws -> KeyValueDatabase {
        try KeyValueDatabase(
          databaseWriter: try database.makeMemoryDatabaseQueue(), authorDescription: "clone")
      }
      let left = try clone(copies[0])
      try left.merge(source: copies[1])
      try left.merge(source: copies[2])
      let pair = try clone(copies[2])
      try pair.merge(source: copies[1])
      let right = try clone(pair)
      try right.merge(source: copies[0])
      #expect(try lines(left) == lines(right))
      #expect(try left.merge(source: right) == [])
      #expect(try right.merge(source: copies[1]) == [])
    }
  }
}
