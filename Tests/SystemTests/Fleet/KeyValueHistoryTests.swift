import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

/// What a key-value store of concurrent values promises, in random histories of replicas that write,
/// delete, rename, settle, merge and relay through folders.
///
/// `LLVS_TEST_HISTORIES` says how many are played with each number of replicas, `LLVS_TEST_SEED` which
/// one alone.
@Suite("Histories of key-value replicas")
struct KeyValueHistoryTests {
  private static let keys = ["a", "b", "c/a", "c/b", "d"]

  /// The versions that came before each version, itself included.
  private static func ancestors(_ history: [String: [String]]) -> [String: Set<String>] {
    var known: [String: Set<String>] = [:]
    func find(_ id: String) -> Set<String> {
      if let set = known[id] { return set }
      var set: Set<String> = [id]
      for predecessor in history[id] ?? [] { set.formUnion(find(predecessor)) }
      known[id] = set
      return set
    }
    for id in history.keys { _ = find(id) }
    return known
  }

  /// One step of one replica; what it sends and retrieves is at any time part of what there is.
  private func step(_ replicas: [StoreReplica], _ play: FleetPlay) throws {
    let index = play.pick(0..<replicas.count)
    let replica = replicas[index]
    switch play.pick(0..<14) {
    case 0...3: try replica.edit(play, keys: Self.keys)
    case 4: try replica.rename(play, keys: Self.keys)
    case 5:
      let open = try replica.conflicts().keys.sorted()
      guard !open.isEmpty else { return }
      try replica.author([:], settling: [open[play.pick(0..<open.count)]], play)
    case 6, 7: _ = try replica.merge(play)
    case 8...10: try replica.send(to: play.folder("folder\(play.pick(0..<replicas.count))"))
    default: try replica.retrieve(from: play.folder("folder\(play.pick(0..<replicas.count))"))
    }
  }

  /// Everybody relays through the folders, and merges, until all are at one version.
  private func converge(_ replicas: [StoreReplica], _ play: FleetPlay) throws {
    for _ in 0..<6 {
      for (index, replica) in replicas.enumerated() {
        let next = (index + 1) % replicas.count
        try replica.retrieve(from: play.folder("folder\(index)"))
        _ = try replica.merge(play)
        try replica.send(to: play.folder("folder\(index)"))
        try replica.send(to: play.folder("folder\(next)"))
      }
      let heads = try replicas.map { try $0.heads() }
      if heads.allSatisfy({ $0.count == 1 && $0 == heads[0] }) {
        for replica in replicas { #expect(try replica.merge(play) == 0, play.note) }
        return
      }
    }
    Issue.record("\(play.note): no end, \(try replicas.map { try $0.heads() })")
  }

  /// No open conflict was settled by a version that the head holds.
  private func checkSettled(
    _ replica: StoreReplica, _ ancestors: [String: Set<String>], _ play: FleetPlay
  ) throws {
    let head = try #require(try replica.heads().first)
    let past = ancestors[head] ?? []
    for (key, dropped) in try replica.conflicts() {
      for revision in dropped {
        let settled = play.deeds.contains { deed in
          let id = deed.id.rawValue
          return past.contains(id) && id != revision.version && deed.touched.contains(key)
            && (ancestors[id] ?? []).contains(revision.version)
        }
        #expect(!settled, "\(play.note): \(key) came back with \(revision)")
      }
    }
  }

  /// Every value that nobody overwrote knowingly is in the tree or in the list.
  private func checkKept(
    _ replica: StoreReplica, _ ancestors: [String: Set<String>], _ play: FleetPlay
  ) throws {
    let shown = Set(try replica.tree().values)
    let listed = Set(try replica.conflicts().values.flatMap { $0.compactMap(\.text) })
    let past = ancestors[try #require(try replica.heads().first)] ?? []
    for written in play.deeds where past.contains(written.id.rawValue) {
      for (key, value) in written.values {
        guard let text = value, !shown.contains(text), !listed.contains(text) else { continue }
        let isOverwritten = play.deeds.contains { deed in
          guard deed.id != written.id, past.contains(deed.id.rawValue) else { return false }
          // Who touched the key after it, or saw it where it had come to under another name.
          return
            (deed.touched.contains(key)
            && (ancestors[deed.id.rawValue] ?? []).contains(written.id.rawValue))
            || deed.seen.contains(text)
        }
        let story = play.story(try replica.history())
        #expect(isOverwritten, "\(text) at \(key) is lost, \(story)")
      }
    }
  }

  @Test(
    "replicas converge to one tree and one list; nothing settled comes back, nothing is lost",
    .timeLimit(.minutes(60)), arguments: 2...5)
  func histories(count: Int) throws {
    for seed in FleetPlay.seeds("LLVS_TEST_HISTORIES", otherwise: 8) {
      let play = try FleetPlay(seed: seed, salt: UInt64(count))
      let settings = StoreReplica.Setting.allCases
      let replicas = try (0..<count).map { index in
        try StoreReplica(
          play.directory.file("store\(index)"),
          seed % 2 == 0 ? .change : settings[play.pick(0..<settings.count)])
      }
      try replicas[0].author(["a": play.text(), "c/a": play.text()], settling: [], play)
      try replicas[0].send(to: play.folder("folder0"))
      for replica in replicas.dropFirst() {
        try replica.retrieve(from: play.folder("folder0"))
        _ = try replica.merge(play)
      }
      for _ in 0..<play.pick(10..<25) + 5 * count {
        try step(replicas, play)
      }
      try converge(replicas, play)
      let ancestors = Self.ancestors(try replicas[0].history())
      let trees = try replicas.map { try $0.tree() }
      let lists = try replicas.map { try $0.describedConflicts() }
      for (tree, list) in zip(trees, lists) {
        #expect(tree == trees[0], play.note)
        #expect(list == lists[0], play.note)
      }
      try checkSettled(replicas[0], ancestors, play)
      try checkKept(replicas[0], ancestors, play)
    }
  }

  /// All that can be read: in the tree and among the conflicts.
  private func values(of replica: StoreReplica) throws -> [String] {
    try replica.tree().values + replica.conflicts().values.flatMap { $0.compactMap(\.text) }
  }

  @Test("keep-both: every concurrent value can be read, and a write settles what it had seen")
  func severalValues() throws {
    let play = try FleetPlay(seed: 1)
    let replicas = try (0..<4).map {
      try StoreReplica(play.directory.file("store\($0)"), .change)
    }
    let folder = try play.folder("all")
    func sync(_ chosen: some Sequence<StoreReplica>) throws {
      for replica in chosen { try replica.send(to: folder) }
      for replica in chosen {
        try replica.retrieve(from: folder)
        _ = try replica.merge(play)
      }
    }
    try replicas[0].author(["a": "0"], settling: [], play)
    try sync(replicas)
    for (index, replica) in replicas.dropLast().enumerated() {
      try replica.author(["a": "by \(index)"], settling: [], play)
    }
    // The fourth has not seen it and goes on with its own.
    try sync(replicas.dropLast())
    for replica in replicas.dropLast() {
      let all = try values(of: replica)
      #expect(Set(all) == ["by 0", "by 1", "by 2"])
    }
    try replicas[3].author(["a": "by 3"], settling: [], play)
    try replicas[1].author(["a": "all three"], settling: [], play)
    #expect(try replicas[1].conflicts().isEmpty)
    try sync(replicas)
    try sync(replicas)
    for replica in replicas {
      let all = try values(of: replica)
      // What the write had seen is settled everywhere; what it had not is still there.
      #expect(Set(all) == ["all three", "by 3"])
    }
    // A delete is a value too: of the others one stands in the tree, the removal in the list.
    try replicas[0].author(["a": nil], settling: [], play)
    try replicas[1].author(["a": "again"], settling: [], play)
    try sync(replicas)
    try sync(replicas)
    for replica in replicas {
      #expect(try replica.tree()["a"] == "again")
      #expect(try replica.conflicts()["a"]?.map(\.text) == [nil])
    }
  }

  /// Alice writes; Dave and Bob get it; Bob overwrites; Carol, who never saw the first, merges Bob; Dave
  /// merges Carol: the first value is gone there too.
  @Test("a relay that never saw a value passes on that it was overwritten")
  func relay() throws {
    let play = try FleetPlay(seed: 2)
    let names = ["alice", "bob", "carol", "dave"]
    let replicas = try names.map {
      try StoreReplica(play.directory.file($0), .change)
    }
    let (alice, bob, carol, dave) = (replicas[0], replicas[1], replicas[2], replicas[3])
    func pass(_ from: StoreReplica, _ to: StoreReplica, _ name: String) throws {
      try from.send(to: play.folder(name))
      try to.retrieve(from: play.folder(name))
      _ = try to.merge(play)
    }
    try alice.author(["a": "first"], settling: [], play)
    try pass(alice, dave, "alice to dave")
    try pass(alice, bob, "alice to bob")
    try bob.author(["a": "second"], settling: [], play)
    try pass(bob, carol, "bob to carol")
    try pass(carol, dave, "carol to dave")
    for replica in [bob, carol, dave] {
      #expect(try replica.tree() == ["a": "second"])
      #expect(try replica.conflicts().isEmpty)
    }
    try pass(dave, alice, "dave to alice")
    #expect(try alice.tree() == ["a": "second"])
  }
}
