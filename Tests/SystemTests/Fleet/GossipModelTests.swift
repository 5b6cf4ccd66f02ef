import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

/// Replicas that share versions in every way there is: merging ends, and all come to hold the same.
///
/// `LLVS_TEST_GOSSIP` says how many histories of each way are played, `LLVS_TEST_SEED` which one alone.
@Suite("Gossip", .serialized)
struct GossipModelTests {
  private static let seeds = FleetPlay.seeds("LLVS_TEST_GOSSIP", otherwise: 6)

  /// Who meets whom.
  enum Meeting: CaseIterable {
    /// Everybody sends before anybody retrieves, and retrieves before anybody merges.
    case lockStep
    /// Each retrieves from the one before it, at the same moment.
    case ring
    /// Everybody comes to one folder, one after the other.
    case hub
    /// Two at a time, whoever it may be.
    case random
  }

  private final class Fleet {
    let play: FleetPlay
    var members: [any FolderMember] = []
    var merges = 0

    init(_ seed: UInt64, stores: Int, plain: Int, settings: [StoreReplica.Setting]) throws {
      play = try FleetPlay(seed: seed)
      for index in 0..<stores {
        members.append(
          try StoreReplica(
            play.directory.file("store\(index)"), settings[index % settings.count]))
      }
      for index in 0..<plain { members.append(PlainReplica(index == 0 ? .change : .branch)) }
      // Half begin with a version that all have; half as the original does, each with an empty root.
      if play.chance(1, in: 2) {
        try members[0].author(["a": "0", "d/a": "0"], settling: [], play)
        let folder = try play.folder("start")
        try members[0].send(to: folder)
        for member in members.dropFirst() {
          try member.retrieve(from: folder)
          _ = try member.merge(play)
        }
      } else {
        for member in members { try member.author([:], settling: [], play) }
      }
    }

    /// One round of a meeting.
    func meet(_ meeting: Meeting) throws {
      switch meeting {
      case .lockStep:
        let folder = try play.folder("all")
        for member in members { try member.send(to: folder) }
        for member in members { try member.retrieve(from: folder) }
        for member in members { merges += try member.merge(play) }
      case .ring:
        let folders = try members.indices.map { try play.folder("ring\($0)") }
        for (member, folder) in zip(members, folders) { try member.send(to: folder) }
        for (index, member) in members.enumerated() {
          try member.retrieve(from: folders[(index + members.count - 1) % members.count])
        }
        for member in members { merges += try member.merge(play) }
      case .hub:
        let folder = try play.folder("hub")
        for member in members.shuffled(using: &play.random) {
          try member.retrieve(from: folder)
          merges += try member.merge(play)
          try member.send(to: folder)
        }
      case .random:
        for _ in members {
          let (one, other) = (play.pick(0..<members.count), play.pick(0..<members.count))
          guard one != other else { continue }
          let folder = try play.folder("from\(one)")
          try members[one].send(to: folder)
          try members[other].retrieve(from: folder)
          if play.chance(3, in: 4) { merges += try members[other].merge(play) }
        }
      }
    }

    /// True if all are at the same version and nobody has anything to merge.
    func isAgreed() throws -> Bool {
      let heads = try members.map { try $0.heads() }
      return heads.allSatisfy { $0.count == 1 && $0 == heads[0] }
    }

    /// Meets until all agree; returns in how many rounds.
    func settle(_ meeting: Meeting, atMost limit: Int) throws -> Int {
      for round in 1...limit {
        try meet(meeting)
        if try isAgreed() { return round }
      }
      let heads = try members.map { try $0.heads() }
      Issue.record("\(play.note) \(meeting): after \(limit) rounds the heads are \(heads)")
      return limit
    }

    /// What has to hold however it came about.
    func check() throws {
      var digests: [String: Digest] = [:]
      var automatic: [String: Bool] = [:]
      for case let member as StoreReplica in members {
        for record in try member.records() {
          let id = record.id.rawValue
          #expect(digests[id] ?? record.map.digest == record.map.digest, play.note)
          digests[id] = record.map.digest
          let flag = record.flags.contains(.automatic)
          #expect(automatic[id] ?? flag == flag, play.note)
          automatic[id] = flag
        }
      }
      var history: [String: [String]] = [:]
      for member in members { history.merge(try member.history()) { $1 } }
      var known: [String: Set<String>] = [:]
      /// The authored versions among a version and its ancestors.
      func authored(_ id: String) -> Set<String> {
        if let set = known[id] { return set }
        var set: Set<String> = automatic[id] ?? false ? [] : [id]
        for predecessor in history[id] ?? [] { set.formUnion(authored(predecessor)) }
        known[id] = set
        return set
      }
      for (id, predecessors) in history where automatic[id] ?? false {
        #expect(predecessors.count == 2, play.note)
        for predecessor in predecessors {
          #expect(
            authored(predecessor).isStrictSubset(of: authored(id)),
            "\(play.note): \(id) holds no more than \(predecessor)")
        }
      }
      // Some have retrieved what all agree on and are still to move to it.
      for member in members { #expect(try member.merge(play) == 0, play.note) }
      let trees = try members.map { try $0.tree() }
      for tree in trees { #expect(tree == trees[0], play.note) }
    }
  }

  @Test("stores of ours end with one head, whoever meets whom", .timeLimit(.minutes(10)))
  func stores() throws {
    for seed in Self.seeds {
      for meeting in Meeting.allCases {
        for settings in [[StoreReplica.Setting.change], [.change, .branch, .content]] {
          let fleet = try Fleet(
            seed, stores: 2 + Int(seed % 5), plain: 0, settings: settings)
          for _ in 0..<fleet.play.pick(2..<8) {
            for member in fleet.members where fleet.play.chance(1, in: 2) {
              try member.edit(fleet.play)
            }
            try fleet.meet(meeting)
          }
          // News goes once round a ring, and what was merged on the way once more.
          _ = try fleet.settle(meeting, atMost: meeting == .random ? 80 : 3 * fleet.members.count)
          try fleet.check()
        }
      }
    }
  }

  @Test("a fleet with one plain LLVS replica ends in lock step", .timeLimit(.minutes(10)))
  func onePlain() throws {
    for seed in Self.seeds {
      for meeting in [Meeting.lockStep, .hub, .random] {
        let fleet = try Fleet(
          seed, stores: 1 + Int(seed % 4), plain: 1, settings: [.change, .branch])
        for _ in 0..<fleet.play.pick(2..<7) {
          for member in fleet.members where fleet.play.chance(1, in: 2) {
            try member.edit(fleet.play)
          }
          try fleet.meet(meeting)
        }
        _ = try fleet.settle(meeting, atMost: meeting == .random ? 80 : 12)
        try fleet.check()
      }
    }
  }

  @Test("a fleet with two plain LLVS replicas ends where they do not move in step")
  func twoPlain() throws {
    for seed in Self.seeds {
      for meeting in [Meeting.hub, .random] {
        let fleet = try Fleet(
          seed, stores: 1 + Int(seed % 4), plain: 2, settings: [.change, .branch])
        for _ in 0..<fleet.play.pick(2..<6) {
          for member in fleet.members where fleet.play.chance(1, in: 2) {
            try member.edit(fleet.play)
          }
          try fleet.meet(meeting)
        }
        _ = try fleet.settle(meeting, atMost: meeting == .random ? 400 : 12)
        try fleet.check()
      }
    }
  }

  @Test(
    "where all sent before any merged, n heads cost n - 1 merges, the same everywhere",
    .timeLimit(.minutes(2)), arguments: 2...6)
  func countOfMerges(stores: Int) throws {
    for seed in Self.seeds {
      let fleet = try Fleet(seed, stores: stores, plain: 0, settings: [.content])
      // From one head, where there was an empty root each too.
      _ = try fleet.settle(.lockStep, atMost: 4)
      fleet.merges = 0
      for member in fleet.members {
        for _ in 0..<fleet.play.pick(1..<4) { try member.edit(fleet.play) }
      }
      try fleet.meet(.lockStep)
      #expect(fleet.merges == stores * (stores - 1), fleet.play.note)
      #expect(try fleet.isAgreed(), fleet.play.note)
      // All made the same versions, so nothing is left to do.
      try fleet.meet(.lockStep)
      #expect(fleet.merges == stores * (stores - 1), fleet.play.note)
      try fleet.check()
    }
  }
}
