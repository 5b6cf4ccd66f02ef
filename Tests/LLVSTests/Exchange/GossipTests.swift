import LLVS
import Platform
import TestSupport
import Testing

@Suite("Gossip through a folder", .timeLimit(.minutes(2)))
struct GossipTests {
  private final class Replica {
    let store: Store
    var head: VersionNumber?

    init(_ store: Store) { self.store = store }
  }

  /// Makes a version of a few random changes of values, attributes and directories.
  private func edit(_ replica: Replica, _ random: inout SeededRandom) throws {
    let (store, head) = (replica.store, replica.head)
    var numbers = random
    replica.head = try store.write { (transaction) throws(StoreError) in
      let record = try head.flatMap { number throws(StoreError) in try store.version(number) }
      let base = store.map(record?.map ?? .empty)
      let number = try transaction.reserveVersion()
      var edits: [MapEdit] = []
      let names = ["a", "b", "d/a", "d/b", "d/e/a", "é", "z"]
      for name in names.sorted(by: { Key($0) < Key($1) }) {
        guard Int.random(in: 0..<3, using: &numbers) == 0 else { continue }
        let key = Key(name)
        guard let old = try base.entry(at: key) else {
          edits.append(
            .put(try entry(key, .regular, number, nil, &numbers, storing: true, transaction)))
          continue
        }
        switch Int.random(in: 0..<4, using: &numbers) {
        case 0: edits.append(.remove(key, directory: false))
        case 1:
          edits.append(
            .put(try entry(key, old.kind, number, old, &numbers, storing: false, transaction)))
        default:
          let kind: EntryKind = Bool.random(using: &numbers) ? .symlink : .regular
          edits.append(
            .put(try entry(key, kind, number, old, &numbers, storing: true, transaction)))
        }
      }
      for name in ["d", "d/e", "q"] where Int.random(in: 0..<3, using: &numbers) == 0 {
        let key = Key(name)
        let old = try base.entry(at: key, directory: true)
        if old != nil, Bool.random(using: &numbers) {
          edits.append(.remove(key, directory: true))
        } else {
          edits.append(
            .put(try entry(key, .directory, number, old, &numbers, storing: false, transaction)))
        }
      }
      edits.sort(by: MapEdit.precedes)
      return try transaction.add(
        AuthoredVersion(
          number: number, first: head, base: base, map: try base.applying(edits: edits),
          message: "by hand")
      ).number
    }
    random = numbers
  }

  private func entry(
    _ key: Key, _ kind: EntryKind, _ number: VersionNumber, _ old: Entry?,
    _ random: inout SeededRandom, storing: Bool, _ transaction: WriteTransaction
  ) throws(StoreError) -> Entry {
    var attributes = old?.attributes ?? Attributes()
    switch Int.random(in: 0..<4, using: &random) {
    case 0: attributes.mode = UInt32.random(in: 0...0o7777, using: &random)
    case 1:
      attributes.mtime = .init(seconds: Int64.random(in: 0...9, using: &random), nanoseconds: 1)
    case 2: attributes.extended = [.init(name: Array("user.x".utf8), value: random.bytes(3))]
    default: attributes = Attributes()
    }
    let stored =
      storing
      ? try transaction.write(random.bytes(Int.random(in: 0...300, using: &random)))
      : old?.stored ?? StoredContent(length: 0, digest: .ofNothing, content: .none)
    return Entry(
      key: key, kind: kind, attributes: attributes, stored: stored,
      storedVersion: storing ? number : old?.storedVersion ?? number, inode: old?.inode ?? 0,
      revision: try transaction.allotRevisions())
  }

  private func sync(_ replica: Replica, _ folder: String, _ note: String) throws {
    let exchange = FileSystemExchange(existingFolder: folder, store: replica.store)
    let report = try exchange.retrieve(control: .init())
    #expect(report.refused.isEmpty && report.waiting.isEmpty, "\(report.refused), \(note)")
    let live = replica.head
    replica.head = try replica.store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: live).outcome
    }
    _ = try exchange.send(control: .init())
  }

  @Test("replicas that edit, merge and sync at random end with the same content", arguments: 0..<4)
  func gossip(_ number: Int) throws {
    let directory = try TemporaryDirectory()
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let note = "seed \(seed)"
    let folder = directory.file("x")
    try FileSystem.makeDirectory(folder)
    let replicas = try (0..<3).map {
      Replica(try Store.open(path: directory.file("s\($0)"), mode: .writer, create: true))
    }
    try edit(replicas[0], &random)
    for replica in replicas { try sync(replica, folder, note) }
    for _ in 0..<30 {
      let replica = replicas[Int.random(in: 0..<3, using: &random)]
      if Int.random(in: 0..<3, using: &random) == 0 {
        try sync(replica, folder, note)
      } else {
        try edit(replica, &random)
      }
    }
    for _ in 0..<3 { for replica in replicas { try sync(replica, folder, note) } }
    let ends = try replicas.map { replica in
      let head = try require(replica.head)
      let record = try require(replica.store.version(head))
      let references = try replica.store.valueReferences(at: record.id)
      return (record.id, record.map.digest, references)
    }
    for end in ends {
      #expect(end.0 == ends[0].0 && end.1 == ends[0].1, "\(note)")
      #expect(end.2 == ends[0].2, "references, \(note)")
    }
    let conflicts = try replicas.map { replica in
      try replica.store.openConflicts(at: try require(replica.head)).map { conflict in
        let theirs = conflict.theirs.map {
          "\($0.version.id.rawValue) \($0.entry?.stored.digest.hex ?? "-")"
        }
        return "\(conflict.key.rawValue) \(conflict.base?.stored.digest.hex ?? "-") "
          + "\(conflict.ours?.stored.digest.hex ?? "-") \(theirs)"
      }
    }
    for list in conflicts { #expect(list == conflicts[0], "conflicts, \(note)") }
    #expect(!conflicts[0].isEmpty, "\(note)")
    let authored = try replicas[0].store.versionsNewestFirst(before: nil, limit: 100)
      .filter { !$0.flags.contains(.automatic) }
    #expect(authored.count > 10, "\(note)")
    for id in try FileSystem.list("\(folder)/versions").map({ Version.ID($0) }) {
      let digests = try replicas.map { try $0.store.version(id)?.map.digest }
      #expect(Set(digests.compactMap { $0 }).count == 1, "\(id.rawValue), \(note)")
      let automatic = try replicas.compactMap { try $0.store.version(id) }
        .map { $0.flags.contains(.automatic) }
      #expect(Set(automatic).count == 1, "\(id.rawValue), \(note)")
    }
  }
}
