import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite struct ConflictHistoryTests {
  private final class Play {
    var random: SeededRandom
    var clock = 1.0
    var serial = 0

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    func id() -> Version.ID {
      let hex = String(random.next(), radix: 16, uppercase: true)
      return Version.ID(String(repeating: "0", count: 16 - hex.count) + hex)
    }

    func time(after head: HistoryNode?) -> Double {
      if Bool.random(using: &random) { clock += 1 }
      return max(clock, (head?.timestamp ?? 0) + 0.000_001)
    }

    /// Values whose bytes nobody else stores, and removals.
    func author(on replica: SampleReplica) throws {
      let heads = try replica.graph.uncontainedHeads(ofLine: nil)
      let head = heads.randomElement(using: &random)
      let map = try head.map { try replica.record($0.number).map } ?? Samples.empty()
      var edits: [MapEdit] = []
      for name in ["a", "b", "c", "d"] where Int.random(in: 0..<3, using: &random) == 0 {
        if Int.random(in: 0..<4, using: &random) == 0 {
          guard try map.entry(at: Key(name)) != nil else { continue }
          edits.append(.remove(Key(name), directory: false))
        } else {
          serial += 1
          var entry = Samples.value(name, Array("\(serial)".utf8))
          entry.storedVersion = replica.nextNumber
          entry.revision = replica.allotRevision()
          edits.append(.put(entry))
        }
      }
      guard !edits.isEmpty else { return }
      try replica.author(on: head, id: id(), timestamp: time(after: head), edits: edits)
    }

    func settle(on replica: SampleReplica) throws {
      guard let head = try replica.graph.uncontainedHeads(ofLine: nil).last else { return }
      let open = try replica.finder.conflicts(try replica.finder.unsettledDrops(at: head.number))
      guard let conflict = open.randomElement(using: &random) else { return }
      try replica.settle([conflict.key], on: head, id: id(), timestamp: time(after: head))
    }

    func merge(on replica: SampleReplica, mixing: Bool) throws {
      let isOthers = Int.random(in: 0..<4, using: &random) == 0
      let heads = try replica.graph.uncontainedHeads(ofLine: nil).prefix(2)
      guard heads.count == 2, let first = heads.min(by: { $0.id < $1.id }),
        let second = heads.first(where: { $0.id != first.id })
      else { return }
      let arbiter: any ClashArbiter =
        switch Int.random(in: 0..<(mixing ? 4 : 2), using: &random) {
        case 0: MostRecentBranchClashArbiter()
        case 2: MixingArbiter()
        case 3: MixingArbiter(drops: !isOthers)
        default: MostRecentChangeClashArbiter(graph: replica.graph)
        }
      try replica.merge(first, second, arbiter, as: isOthers ? id() : nil)
    }
  }

  /// Everything written at a key that no authored descendant wrote, removed or settled again.
  private func survivors(
    of replica: SampleReplica, at head: HistoryNode
  ) throws -> [(Key, Entry)] {
    let graph = replica.graph
    let past = try replica.records.filter {
      try graph.isAncestorOrSelf($0.node.number, of: head.number)
    }
    var survivors: [(Key, Entry)] = []
    for name in ["a", "b", "c", "d"].map({ Key($0) }) {
      var touching: [VersionNumber] = []
      var writers: [(VersionNumber, Entry)] = []
      for record in past where !record.node.isAutomatic {
        let entry = try record.map.entry(at: name)
        if let entry, entry.storedVersion == record.node.number {
          writers.append((record.node.number, entry))
          touching.append(record.node.number)
        } else if Version.settledKeys(record.version.metadata).contains(name) {
          touching.append(record.node.number)
        } else if entry == nil {
          let before = [record.node.first, record.node.second].compactMap(\.self)
          let all = try before.allSatisfy { try replica.record($0).map.entry(at: name) != nil }
          if !before.isEmpty, all { touching.append(record.node.number) }
        }
      }
      for (number, entry) in writers {
        let isKnown = try touching.contains {
          try $0 != number && graph.isAncestorOrSelf(number, of: $0)
        }
        if !isKnown { survivors.append((name, entry)) }
      }
    }
    return survivors
  }

  @Test(
    "replicas list the same conflicts, none comes back, nothing is lost unseen",
    .timeLimit(.minutes(2)), arguments: 1...60)
  func histories(number: Int) throws {
    let play = Play(seed: UInt64(number))
    // Bytes made of both sides stand for neither: what survives is asked only where there are none.
    let isMixing = number % 3 == 0
    let replicas = (0..<2 + number % 3).map { _ in SampleReplica() }
    var known: [KnownDrops?] = replicas.map { _ in nil }
    for _ in 0..<(number % 10 == 0 ? 150 : 45) {
      let index = Int.random(in: 0..<replicas.count, using: &play.random)
      let one = replicas[index]
      switch Int.random(in: 0..<9, using: &play.random) {
      case 0...3: try play.author(on: one)
      case 4: try play.settle(on: one)
      case 5, 6: try play.merge(on: one, mixing: isMixing)
      default:
        guard let other = replicas.randomElement(using: &play.random), other !== one else {
          continue
        }
        try one.retrieve(from: other)
      }
      guard let head = try one.graph.uncontainedHeads(ofLine: nil).last else { continue }
      let fresh = try one.finder.unsettledDrops(at: head.number)
      let next = try one.finder.unsettledDrops(at: head.number, knowing: known[index])
      try #require(fresh == next, "seed \(number): what is known leads elsewhere")
      if let before = known[index],
        try one.graph.isAncestorOrSelf(before.head, of: head.number)
      {
        let old = Set(before.drops)
        for drop in fresh.drops where !old.contains(drop) {
          // What is new was dropped since.
          let isNew = try !one.graph.isAncestorOrSelf(drop.merge, of: before.head)
          let wasKnown = before.drops.contains { $0.key == drop.key && $0.version == drop.version }
          try #require(isNew || wasKnown, "seed \(number): \(drop.key.rawValue) came back")
        }
      }
      known[index] = fresh
    }
    var isQuiet = false
    var rounds = 0
    while !isQuiet {
      rounds += 1
      try #require(rounds < 30, "seed \(number)")
      for one in replicas {
        for other in replicas where other !== one { try one.retrieve(from: other) }
      }
      isQuiet = true
      for one in replicas where try one.mergeHeads() > 0 { isQuiet = false }
    }
    var lists: [[String]] = []
    for one in replicas {
      let heads = try one.graph.uncontainedHeads(ofLine: nil)
      try #require(heads.count <= 1)
      guard let head = heads.first else { continue }
      let conflicts = try one.finder.conflicts(try one.finder.unsettledDrops(at: head.number))
      lists.append(one.described(conflicts))
      guard !isMixing else { continue }
      let map = try one.record(head.number).map
      for (key, entry) in try survivors(of: one, at: head) {
        let shown = try map.entry(at: key)?.stored.digest == entry.stored.digest
        let theirs = conflicts.first { $0.key == key }?.theirs ?? []
        let isListed = theirs.contains { $0.entry?.stored.digest == entry.stored.digest }
        #expect(shown || isListed, "seed \(number): \(key.rawValue) is lost")
      }
    }
    for list in lists { #expect(list == lists[0], "seed \(number)") }
  }
}
