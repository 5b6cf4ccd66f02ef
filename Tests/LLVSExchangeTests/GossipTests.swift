import LLVSCore
import Platform
import TestSupport
import Testing

@testable import LLVSExchange
@testable import StoreSupport

@Suite("Gossip through a folder", .timeLimit(.minutes(2)))
struct GossipTests {
  private final class Replica {
    let store: Store
    var head: VersionNumber?

    init(_ store: Store) { self.store = store }
  }

  /// Makes a version by hand on a replica's head.
  private func makeVersion(
    _ replica: Replica,
    _ edits: (ValueMap, VersionNumber, WriteTransaction) throws(StoreError) -> [MapEdit]
  ) throws {
    let (store, head) = (replica.store, replica.head)
    replica.head = try store.write { (transaction) throws(StoreError) in
      let record = try head.flatMap { number throws(StoreError) in try store.version(number) }
      let base = store.map(record?.map ?? .empty)
      let number = try transaction.reserveVersion()
      let edits = try edits(base, number, transaction)
      return try transaction.add(
        AuthoredVersion(
          number: number, first: head, base: base, map: try base.applying(edits: edits),
          message: "by hand")
      ).number
    }
  }

  /// Makes a version of a few random changes of values, attributes and directories.
  private func edit(_ replica: Replica, _ random: inout SeededRandom) throws {
    var numbers = random
    try makeVersion(replica) { (base, number, transaction) throws(StoreError) in
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
      // Some values get another name, with all that is recorded of them.
      let touched = Set(edits.map(\.key))
      for (old, new) in [("a", "renamed a"), ("d/a", "q/a"), ("renamed a", "a"), ("q/a", "z")]
      where Int.random(in: 0..<4, using: &numbers) == 0 {
        let (from, to) = (Key(old), Key(new))
        guard !touched.contains(from), !touched.contains(to),
          !edits.contains(where: { $0.key == from || $0.key == to }),
          var entry = try base.entry(at: from), try base.entry(at: to) == nil
        else { continue }
        entry.key = to
        entry.storedVersion = number
        entry.revision = try transaction.allotRevisions()
        edits += [.remove(from, directory: false), .put(entry)]
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
      return edits
    }
    random = numbers
  }

  /// Makes a version that stores bytes of its own at a key, whatever was there.
  private func write(_ name: String, _ replica: Replica, _ random: inout SeededRandom) throws {
    var numbers = random
    try makeVersion(replica) { (_, number, transaction) throws(StoreError) in
      [.put(try entry(Key(name), .regular, number, nil, &numbers, storing: true, transaction))]
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
      storedVersion: storing ? number : old?.storedVersion ?? number,
      revision: try transaction.allotRevisions())
  }

  private func sync(
    _ replica: Replica, _ folder: String, _ formats: [FolderFormat], _ note: String
  ) throws {
    for format in formats {
      let report = try format.retrieve(into: replica.store, folder)
      #expect(report.refused.isEmpty && report.waiting.isEmpty, "\(report.refused), \(note)")
    }
    let live = replica.head
    replica.head = try replica.store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: live).outcome
    }
    for format in formats { _ = try format.send(replica.store, folder) }
  }

  /// Sends a store through each format to a store of its own, and compares what arrives.
  private func compare(_ store: Store, _ directory: TemporaryDirectory, _ note: String) throws {
    var arrived: [Store] = []
    var forwarded: [String] = []
    for format in FolderFormat.allCases {
      let (folder, again) = (directory.file("\(format)"), directory.file("\(format)-again"))
      for path in [folder, again] { try FileSystem.makeDirectory(path) }
      let sent = try format.send(store, folder).sent
      let copy = try Store.open(path: directory.file("\(format)-s"), mode: .writer, create: true)
      #expect(try format.retrieve(into: copy, folder).taken.count == sent.count, "\(note)")
      #expect(try format.retrieve(into: copy, folder).taken.isEmpty, "\(note)")
      try FolderFormat.files.send(copy, again)
      arrived.append(copy)
      forwarded.append(again)
    }
    let names = try FileSystem.list("\(forwarded[0])/versions").sorted()
    #expect(try FileSystem.list("\(forwarded[1])/versions").sorted() == names, "\(note)")
    for name in names {
      let id = Version.ID(name)
      let records = try arrived.map { try require($0.version(id)) }
      #expect(records[0].map.digest == records[1].map.digest, "\(note)")
      #expect(records[0].flags == records[1].flags, "\(note)")
      #expect(
        try arrived[0].valueReferences(at: id) == arrived[1].valueReferences(at: id), "\(note)")
      for kind in ["versions", "changes"] {
        let files = try forwarded.map {
          try FileSystem.read("\($0)/\(kind)/\(name)", atMost: 1 << 24)
        }
        #expect(files[0] == files[1], "\(kind)/\(name), \(note)")
      }
    }
    for copy in arrived { #expect(try copy.verify().damage.isEmpty, "\(note)") }
  }

  @Test(
    "replicas that edit, merge and sync at random end with the same content",
    arguments: [[.files], [.bundles], [.bundles, .files]] as [[FolderFormat]], 0..<2)
  func gossip(_ formats: [FolderFormat], _ number: Int) throws {
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
    for replica in replicas { try sync(replica, folder, formats, note) }
    for _ in 0..<30 {
      let replica = replicas[Int.random(in: 0..<3, using: &random)]
      if Int.random(in: 0..<3, using: &random) == 0 {
        try sync(replica, folder, formats, note)
      } else {
        try edit(replica, &random)
      }
    }
    // What the edits above clash in, later ones may settle; nothing comes after this.
    let clash = "clash"
    for replica in replicas { try write(clash, replica, &random) }
    for _ in 0..<3 { for replica in replicas { try sync(replica, folder, formats, note) } }
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
    try compare(replicas[0].store, directory, note)
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
    #expect(conflicts[0].contains { $0.hasPrefix("\(clash) ") }, "\(conflicts[0]), \(note)")
    let authored = try replicas[0].store.versionsNewestFirst(before: nil, limit: 100)
      .filter { !$0.flags.contains(.automatic) }
    #expect(authored.count > 10, "\(note)")
    for id in try replicas[0].store.versionsNewestFirst(before: nil, limit: 1000).map(\.id) {
      let digests = try replicas.map { try $0.store.version(id)?.map.digest }
      #expect(Set(digests.compactMap { $0 }).count == 1, "\(id.rawValue), \(note)")
      let automatic = try replicas.compactMap { try $0.store.version(id) }
        .map { $0.flags.contains(.automatic) }
      #expect(Set(automatic).count == 1, "\(id.rawValue), \(note)")
    }
  }
}
