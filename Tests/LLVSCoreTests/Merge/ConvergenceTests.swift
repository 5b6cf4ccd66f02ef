import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite struct ConvergenceTests {
  /// Random edits of a tree of values and directories, valid on the map they are made on.
  private func edits(
    of map: ValueMap, _ random: inout SeededRandom, number: VersionNumber, revision: () -> UInt64
  ) throws -> [MapEdit] {
    var edits: [String: MapEdit] = [:]
    let existing = try Samples.entries(of: map)
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let name =
        "d\(Int.random(in: 0..<3, using: &random))/\(Int.random(in: 0..<6, using: &random))"
        + (["", "", "-wal", "-journal"].randomElement(using: &random) ?? "")
      switch Int.random(in: 0..<8, using: &random) {
      case 0...3:
        var entry = Samples.value(name, Array("\(Int.random(in: 0..<4, using: &random))".utf8))
        entry.storedVersion = number
        entry.revision = revision()
        entry.attributes.mtime = .init(
          seconds: Int64.random(in: 0..<100, using: &random), nanoseconds: 0)
        if Bool.random(using: &random) { entry.attributes.mode = 0o600 }
        edits[name] = .put(entry)
      case 4: edits[name] = .remove(Key(name), directory: false)
      case 5:
        guard var entry = existing.filter({ !$0.isDirectory }).randomElement(using: &random) else {
          continue
        }
        entry.attributes.mode = [0o644, 0o755, 0o400].randomElement(using: &random)
        if Bool.random(using: &random) {
          entry.attributes.extended = [
            .init(name: Array("user.x".utf8), value: [UInt8.random(in: 0..<3, using: &random)])
          ]
        }
        entry.revision = revision()
        if edits[entry.key.rawValue] == nil { edits[entry.key.rawValue] = .put(entry) }
      case 6:
        let directory = Samples.directory("d\(Int.random(in: 0..<3, using: &random))")
        edits[directory.key.rawValue + "\u{0}"] = .put(directory)
      default:
        guard let directory = existing.filter(\.isDirectory).randomElement(using: &random) else {
          continue
        }
        let prefix = directory.key.rawValue + "/"
        edits[directory.key.rawValue + "\u{0}"] = .remove(directory.key, directory: true)
        for (slot, edit) in edits where edit.key.rawValue.hasPrefix(prefix) { edits[slot] = nil }
        for entry in existing where entry.key.rawValue.hasPrefix(prefix) {
          edits[entry.key.rawValue] = .remove(entry.key, directory: false)
        }
      }
    }
    return Array(edits.values)
  }

  private func author(
    on replica: SampleReplica, _ random: inout SeededRandom, _ clock: inout Double
  ) throws {
    let heads = try replica.graph.uncontainedHeads(ofLine: nil)
    let head = heads.last
    let map = try head.map { try replica.record($0.number).map } ?? Samples.empty()
    let edits = try edits(of: map, &random, number: replica.nextNumber) {
      replica.allotRevision()
    }
    // Several replicas may author within one tick.
    if Bool.random(using: &random) { clock += 1 }
    let timestamp = max(clock, (head?.timestamp ?? 0) + 0.000_001)
    let digits = format(random.next())
    try replica.author(on: head, id: Version.ID(digits), timestamp: timestamp, edits: edits)
  }

  private func format(_ number: UInt64) -> String {
    let hex = String(number, radix: 16, uppercase: true)
    return String(repeating: "0", count: 16 - hex.count) + hex
  }

  @Test(
    "replicas that merge and gossip in any order end with one head of equal content",
    .timeLimit(.minutes(2)), arguments: 1...60)
  func convergence(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let replicas = (0..<2 + seed % 3).map { _ in SampleReplica() }
    var clock = 1.0
    for _ in 0..<(seed % 10 == 0 ? 120 : 25) {
      guard let one = replicas.randomElement(using: &random) else { continue }
      switch Int.random(in: 0..<6, using: &random) {
      case 0...2: try author(on: one, &random, &clock)
      case 3: _ = try one.mergeHeads()
      default:
        guard let other = replicas.randomElement(using: &random), other !== one else { continue }
        try one.retrieve(from: other)
        if Bool.random(using: &random) { _ = try one.mergeHeads() }
      }
    }
    // In lock step: all send before any merges, until nobody has anything to merge.
    var rounds = 0
    var isQuiet = false
    while !isQuiet {
      rounds += 1
      try #require(rounds < 30, "seed \(seed): merging does not end")
      for one in replicas {
        for other in replicas where other !== one { try one.retrieve(from: other) }
      }
      isQuiet = true
      for one in replicas where try one.mergeHeads() > 0 { isQuiet = false }
    }
    let heads = try replicas.map { try $0.graph.uncontainedHeads(ofLine: nil) }
    #expect(Set(heads.map { $0.map(\.id) }).count == 1, "seed \(seed)")
    #expect(heads[0].count == 1)
    var digests: Set<Digest> = []
    for (replica, head) in zip(replicas, heads) {
      digests.insert(try replica.record(head[0].number).map.contentDigest)
    }
    #expect(digests.count == 1)
  }
}
