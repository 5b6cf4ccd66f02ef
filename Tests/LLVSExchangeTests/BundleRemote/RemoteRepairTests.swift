import ObjectStoreSupport
import ObjectStores
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// Whatever happens to the objects of a remote, one sync of a store that has everything makes it whole again.
@Suite("A remote that lost or damaged objects", .timeLimit(.minutes(10)))
struct RemoteRepairTests {
  /// The kinds of remotes, and the WebDAV servers that run.
  static let places =
    ["memory", "directory", "bucket"] + RemoteWorld.servers.filter(\.isWebDAV).map(\.name)

  /// What is done to an object.
  enum Harm: CaseIterable { case remove, cut, lengthen, flip, swap, roll }

  private static let lives = Int(SystemProcess.environment("LLVS_TEST_LIVES") ?? "") ?? 6
  private static let seed = UInt64(SystemProcess.environment("LLVS_TEST_SEED") ?? "") ?? 1

  @Test(
    "one sync of any store that has everything fills it, and a fresh clone is whole",
    arguments: places, [false, true])
  func lives(_ place: String, _ isSealed: Bool) throws {
    for index in 0..<Self.lives {
      let seed = Self.seed + UInt64(index)
      let directory = try TemporaryDirectory()
      let bucket = place == "bucket" ? try BucketServer(pageLength: 7) : nil
      defer { bucket?.stop() }
      let life = try RemoteLife(
        seed, isSealed: isSealed, isDirectory: place == "directory",
        try Self.objects(place, directory, bucket))
      try life.run()
    }
  }

  @Test("a chunk whose bundle has it as a patch of what is lost is read from another bundle")
  func otherCopy() throws {
    try RemoteLife(
      1026, isSealed: false, isDirectory: false, MemoryStore(control: TransferControl())
    ).run()
  }

  @Test("damage that a store found is still known after it forgot what it saw at the remote")
  func forgotten() throws {
    let world = try RemoteWorld()
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: Self.seed)
    try world.make(a, ["k": random.bytes(700_000)])
    try world.send(a)
    try world.retrieve(b)
    for name in try world.objects.names {
      var bytes = try world.objects.bytes(name)
      bytes[40] ^= 4
      try world.objects.replace(name, by: bytes)
    }
    for healer in [a, b] {
      #expect(try !world.remote().verify(for: healer, ExchangeControl()).refused.isEmpty)
      try BundleRemote.forget("memory", in: healer)
    }
    try world.retrieve(b)
    try world.send(b)
    let fresh = try world.store("fresh")
    try world.retrieve(fresh)
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(a))
    // The writer, too, still knows which of its bundles are damaged, and removes them.
    try world.send(a)
    #expect(try world.remote().verify(for: a, ExchangeControl()).refused.isEmpty)
  }

  @Test(
    "another writer's newest bundle that was filled hides nothing, and goes after its writer's next send",
    arguments: [Harm.remove, .cut, .flip], [false, true])
  func filled(_ harm: Harm, _ isSealed: Bool) throws {
    let world = try RemoteWorld()
    let keys = isSealed ? HeldKeys([RemoteKey([UInt8](repeating: 7, count: 32), made: 1)]) : nil
    func remote() -> BundleRemote { world.remote { $0.keys = keys } }
    let (a, b) = (try world.store("a"), try world.store("b"))
    func sync(_ store: Store) throws -> ExchangeReport {
      let report = try remote().retrieve(into: store, ExchangeControl())
      _ = try remote().send(from: store, ExchangeControl())
      return report
    }
    for number in 0..<3 {
      try world.make(a, ["k\(number)": [UInt8](repeating: UInt8(number), count: 90_000)])
      _ = try sync(a)
    }
    _ = try sync(b)
    let newest = try #require(try world.objects.names.max())
    var bytes = try world.objects.bytes(newest)
    switch harm {
    case .remove: try world.objects.remove(newest)
    case .cut: try world.objects.replace(newest, by: Array(bytes.dropLast(9)))
    default:
      bytes[bytes.count - 60] ^= 4
      try world.objects.replace(newest, by: bytes)
    }
    _ = try remote().verify(for: b, ExchangeControl())
    for _ in 0..<2 { _ = try sync(b) }
    let fresh = try world.store("fresh")
    let report = try sync(fresh)
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(a))
    #expect(report.refused + report.waiting == [])
    let puts = world.objects.counts.puts.count
    _ = try sync(b)
    #expect(world.objects.counts.puts.count == puts)
    // Its writer announces it, and removes it after the grace period.
    _ = try sync(a)
    for number in 8..<11 {
      try world.make(a, ["k9": [UInt8(number)]])
      _ = try sync(a)
      world.clock.advance(hours: 24 * 31)
    }
    #expect(try !world.objects.names.contains(newest))
    let last = try world.store("last")
    let end = try sync(last)
    #expect(end.refused + end.waiting == [])
    #expect(try RemoteWorld.content(last) == RemoteWorld.content(a))
  }

  @Test(
    "a damaged bundle that the healer never read, or forgot, hides nothing, and its writer replaces it",
    arguments: [false, true], [Harm.cut, .flip])
  func unneeded(_ isForgetful: Bool, _ harm: Harm) throws {
    let world = try RemoteWorld()
    let (a, b) = (try world.store("a"), try world.store("b"))
    func sync(_ store: Store) throws -> ExchangeReport {
      let report = try world.remote().retrieve(into: store, ExchangeControl())
      _ = try world.send(store)
      return report
    }
    for number in 0..<3 {
      try world.make(a, ["k\(number)": [UInt8](repeating: UInt8(number), count: 9000)])
      _ = try sync(a)
    }
    if isForgetful {
      _ = try sync(b)
      try BundleRemote.forget("memory", in: b)
    } else {
      _ = try b.retrieve(from: StoreSource(a))
    }
    let name = try #require(try world.objects.names.max())
    var bytes = try world.objects.bytes(name)
    if harm == .cut { bytes.removeLast(9) } else { bytes[bytes.count - 20] ^= 4 }
    try world.objects.replace(name, by: bytes)
    _ = try world.remote().verify(for: b, ExchangeControl())
    _ = try sync(b)
    for reader in [b, try world.store("fresh")] {
      let report = try sync(reader)
      #expect(report.refused + report.waiting == [])
      #expect(try RemoteWorld.content(reader) == RemoteWorld.content(a))
      let checked = try world.remote().verify(for: reader, ExchangeControl())
      #expect(checked.refused + checked.waiting == [] && checked.remoteIDs.count == 3)
    }
    // Its writer has nothing to send, reads the bundle once more, and replaces it.
    _ = try sync(a)
    #expect(try world.objects.names.allSatisfy { try world.objects.bytes($0) != bytes })
    for store in [a, b] {
      let checked = try world.remote().verify(for: store, ExchangeControl())
      #expect(checked.refused + checked.waiting == [] && checked.notes == [])
      world.objects.reset()
      _ = try sync(store)
      #expect(world.objects.counts.puts.isEmpty)
    }
  }

  @Test(
    "a bundle that appears after what it needs was called not needed is filled by a store that has its versions",
    arguments: [false, true])
  func late(_ isStranger: Bool) throws {
    let world = try RemoteWorld()
    let (a, b, c) = (try world.store("a"), try world.store("b"), try world.store("c"))
    var random = SeededRandom(seed: 7)
    let value = random.bytes(90_000)
    try world.make(a, ["k": value])
    try world.send(a)
    try world.retrieve(b)
    try world.make(b, ["k": [1]])
    try world.send(b)
    try world.retrieve(a)
    _ = try c.retrieve(from: StoreSource(a))
    // What it needs of the first bundle is only there.
    try world.make(b, ["other": value])
    let before = Set(try world.objects.names)
    try world.send(b)
    let new = try #require(Set(try world.objects.names).subtracting(before).first)
    let bytes = try world.objects.bytes(new)
    try world.objects.remove(new)
    let first = try #require(before.first { $0.hasPrefix(a.replicaID) })
    var damaged = try world.objects.bytes(first)
    damaged.removeLast(9)
    try world.objects.replace(first, by: damaged)
    try world.retrieve(c)
    try world.send(c)
    try world.objects.replace(new, by: bytes)
    var healer = b
    if isStranger {
      healer = try world.store("healer")
      _ = try healer.retrieve(from: StoreSource(b))
    }
    try world.retrieve(healer)
    try world.send(healer)
    let fresh = try world.store("fresh")
    #expect(try world.retrieve(fresh).unreadable.isEmpty)
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(b))
  }

  @Test("a writer that sends nothing rereads one of its bundles a day in a directory")
  func daily() throws {
    let world = try RemoteWorld()
    let a = try world.store("a")
    func send() throws -> ExchangeReport {
      try world.remote { $0.removal = .directory }.send(from: a, ExchangeControl())
    }
    try world.make(a, ["k": [UInt8](repeating: 1, count: 3000)])
    _ = try send()
    _ = try send()
    let name = try world.objects.names[0]
    var bytes = try world.objects.bytes(name)
    bytes[40] ^= 4
    try world.objects.replace(name, by: bytes)
    _ = try send()
    #expect(try world.objects.names == [name])
    world.clock.advance(hours: 25)
    _ = try send()
    #expect(try world.objects.names != [name])
  }

  @Test("bundles that are listed and not given count as damaged only if the server gives others")
  func withheld() throws {
    let world = try RemoteWorld()
    let (a, b) = (try world.store("a"), try world.store("b"))
    for number in 0..<4 {
      try world.make(a, ["k\(number)": [UInt8](repeating: 1, count: 3000)])
      try world.send(a)
    }
    let names = try world.objects.names
    world.objects.withhold(names)
    for step in [
      { try world.remote().verify(for: a, ExchangeControl()) }, { try world.retrieve(b) },
    ] {
      let error = #expect(throws: StoreError.self) { _ = try step() }
      guard case .unreachable = error else {
        Issue.record("\(error.map(String.init(describing:)) ?? "")")
        continue
      }
    }
    world.objects.withhold([])
    world.objects.reset()
    try world.send(a)
    #expect(world.objects.counts.puts.isEmpty)
    // One alone is lost.
    world.objects.withhold([names[1]])
    #expect(try world.remote().verify(for: a, ExchangeControl()).refused.count == 1)
    #expect(try world.retrieve(b).refused.contains { $0.isObject })
    try world.send(a)
    try world.retrieve(b)
    #expect(try RemoteWorld.content(a) == RemoteWorld.content(b))
  }

  @Test("another version's changes in place of a version's are damage, and are replaced")
  func swapped() throws {
    let place = try ExchangePlace()
    let a = try place.store("a")
    var ids: [String] = []
    for number in 0..<3 {
      ids.append(
        try a.makeVersion(
          basedOnPredecessor: a.mostRecentHead?.id,
          updating: [Value(id: .init("k\(number)"), data: [UInt8(number)])]
        ).id.rawValue)
    }
    _ = try FolderFormat.files.send(a, place.folder)
    let changes = "\(place.folder)/changes"
    try FileSystem.replace(
      "\(changes)/\(ids[2])", with: FileSystem.read("\(changes)/\(ids[0])", atMost: 1 << 20),
      permissions: 0o644)
    let report = try FolderFormat.files.verify(for: a, place.folder)
    #expect(report.refused.map(\.id.rawValue) == [ids[2]])
    _ = try FolderFormat.files.send(a, place.folder)
    #expect(try FolderFormat.files.verify(for: a, place.folder).refused.isEmpty)
    let fresh = try place.store("fresh")
    _ = try FolderFormat.files.retrieve(into: fresh, place.folder)
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(a))
  }

  @Test("junk under a store's own name is announced and removed with the next sends")
  func ownJunk() throws {
    let world = try RemoteWorld()
    let a = try world.store("a")
    try world.make(a, ["k": [1]])
    try world.send(a)
    let bytes = [UInt8](repeating: 7, count: 5000)
    let junk = BundleName(writer: a.replicaID, sequence: 9, length: 5000, hash: Digest.of(bytes))
    try world.objects.replace(junk.text, by: bytes)
    #expect(try !world.remote().verify(for: a, ExchangeControl()).refused.isEmpty)
    for _ in 0..<2 { try world.send(a) }
    #expect(try !world.objects.names.contains(junk.text))
    #expect(try world.remote().verify(for: a, ExchangeControl()).refused.isEmpty)
    world.objects.reset()
    try world.send(a)
    #expect(world.objects.counts.puts.isEmpty)
  }

  @Test("another writer's damaged bundle is no fault once all that it held is there again")
  func replaced() throws {
    let world = try RemoteWorld()
    let (a, b) = (try world.store("a"), try world.store("b"))
    for number in 0..<2 {
      try world.make(a, ["k\(number)": [UInt8](repeating: 1, count: 3000)])
      try world.send(a)
    }
    try world.retrieve(b)
    let name = try world.objects.names[0]
    try world.objects.replace(
      name, by: [UInt8](repeating: 0, count: world.objects.bytes(name).count))
    #expect(try !world.remote().verify(for: b, ExchangeControl()).refused.isEmpty)
    try world.send(b)
    let report = try world.remote().verify(for: b, ExchangeControl())
    #expect(report.refused.isEmpty)
  }

  @Test("another writer's lost bundle is no fault once all that it held is there again")
  func lost() throws {
    let world = try RemoteWorld()
    let (a, b) = (try world.store("a"), try world.store("b"))
    for number in 0..<2 {
      try world.make(b, ["k\(number)": [UInt8](repeating: 1, count: 3000)])
      try world.send(b)
    }
    try world.retrieve(a)
    try world.objects.remove(world.objects.names[0])
    for _ in 0..<2 {
      try world.send(a)
      let report = try world.remote().retrieve(into: a, ExchangeControl())
      #expect(report.waiting.isEmpty)
      let found = try world.remote().verify(for: a, ExchangeControl())
      #expect(found.waiting.isEmpty && found.refused.isEmpty && found.remoteIDs.count == 2)
    }
  }

  @Test(
    "files of the original's format that are empty are written again", arguments: WireKind.allCases)
  func emptyFiles(kind: WireKind) throws {
    let place = try ExchangePlace()
    let a = try place.store("a")
    for number in 0..<3 {
      _ = try a.makeVersion(
        basedOnPredecessor: a.mostRecentHead?.id,
        updating: [Value(id: .init("k\(number)"), data: [1])])
    }
    _ = try FolderFormat.files.send(a, place.folder)
    let name = try #require(try FileSystem.list("\(place.folder)/\(kind.rawValue)").first)
    try FileSystem.replace("\(place.folder)/\(kind.rawValue)/\(name)", with: [])
    #expect(try FolderFormat.files.send(a, place.folder).sent.map(\.rawValue) == [name])
    #expect(try FolderFormat.files.send(a, place.folder).sent.isEmpty)
    #expect(try FolderFormat.files.verify(for: a, place.folder).remoteIDs.count == 3)
  }

  @Test(
    "a file of the original's format that got another length is written again without a verify",
    arguments: WireKind.allCases, [Harm.cut, .lengthen])
  func otherLength(kind: WireKind, _ harm: Harm) throws {
    let place = try ExchangePlace()
    let (a, b) = (try place.store("a"), try place.store("b"))
    for number in 0..<3 {
      _ = try a.makeVersion(
        basedOnPredecessor: a.mostRecentHead?.id,
        updating: [Value(id: .init("k\(number)"), data: [1, 2, 3])])
    }
    _ = try FolderFormat.files.send(a, place.folder)
    // A store that wrote nothing there has seen the lengths.
    _ = try FolderFormat.files.retrieve(into: b, place.folder)
    _ = try FolderFormat.files.send(b, place.folder)
    for healer in [a, b] {
      let name = try #require(try FileSystem.list("\(place.folder)/\(kind.rawValue)").first)
      let path = "\(place.folder)/\(kind.rawValue)/\(name)"
      let bytes = try FileSystem.read(path, atMost: 1 << 20)
      let harmed = harm == .cut ? Array(bytes.dropLast(3)) : bytes + [1, 2]
      try FileSystem.replace(path, with: harmed, permissions: 0o644)
      #expect(try FolderFormat.files.send(healer, place.folder).sent.map(\.rawValue) == [name])
      #expect(try FolderFormat.files.verify(for: healer, place.folder).remoteIDs.count == 3)
      // A file with the same content and another length stays.
      try FileSystem.replace(
        path, with: try FileSystem.read(path, atMost: 1 << 20) + [10], permissions: 0o644)
      for store in [a, b] { #expect(try FolderFormat.files.send(store, place.folder).sent.isEmpty) }
    }
  }

  @Test("files of the original's format that are missing or damaged are written again")
  func files() throws {
    for seed in 0..<UInt64(Self.lives) {
      var random = SeededRandom(seed: Self.seed + seed)
      let place = try ExchangePlace()
      let (a, b) = (try place.store("a"), try place.store("b"))
      for number in 0..<8 {
        _ = try a.makeVersion(
          basedOnPredecessor: a.mostRecentHead?.id,
          updating: [Value(id: .init("k\(number % 3)"), data: random.bytes(number * 9000))])
      }
      _ = try FolderFormat.files.send(a, place.folder)
      _ = try b.retrieve(from: StoreSource(a))
      var isSilent = false
      for kind in ["versions", "changes"] {
        for name in try FileSystem.list("\(place.folder)/\(kind)").sorted()
        where Int.random(in: 0..<3, using: &random) == 0 {
          let path = "\(place.folder)/\(kind)/\(name)"
          guard Bool.random(using: &random) else {
            try FileSystem.unlink(path)
            continue
          }
          isSilent = true
          var bytes = try FileSystem.read(path, atMost: 1 << 20)
          if Bool.random(using: &random) {
            bytes.removeLast(bytes.count / 2)
          } else {
            bytes[20] ^= 1
          }
          try FileSystem.replace(path, with: bytes, permissions: 0o644)
        }
      }
      let healer = Bool.random(using: &random) ? a : b
      if isSilent { _ = try FolderFormat.files.verify(for: healer, place.folder) }
      _ = try FolderFormat.files.send(healer, place.folder)
      let checked = try FolderFormat.files.verify(for: healer, place.folder)
      #expect(checked.refused.isEmpty && checked.remoteIDs.count == 8, "seed \(Self.seed + seed)")
      let fresh = try place.store("fresh")
      let report = try FolderFormat.files.retrieve(into: fresh, place.folder)
      #expect(report.unreadable.isEmpty, "seed \(Self.seed + seed): \(report.refused)")
      #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(a))
    }
  }

  private static func objects(
    _ place: String, _ directory: TemporaryDirectory, _ bucket: BucketServer?
  ) throws -> any ObjectStore {
    switch place {
    case "memory": return MemoryStore(control: TransferControl())
    case "directory":
      let path = directory.file("x")
      try FileSystem.makeDirectory(path)
      return DirectoryStore(path: path, scratch: ".llvs-outgoing-test", control: TransferControl())
    case "bucket":
      let secrets = directory.file("bucket")
      try FileSystem.replace(
        secrets, with: Array("access_key=a\nsecret_key=b\n".utf8), permissions: 0o600)
      let sources = CredentialSources(peer: "bucket", secrets: directory.path) { _ in nil }
      return try RemoteConnector(
        RemoteAddress("\(bucket.unwrapped.address)/p"), credentials: sources,
        control: TransferControl(), scratch: ".llvs-outgoing-test"
      ).open()
    default: return try RemoteWorld.servers.first { $0.name == place }.unwrapped.open()
    }
  }
}
