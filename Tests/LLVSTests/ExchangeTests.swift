import Foundation
import LLVS
import Synchronization
import TestSupport
import Testing

/// Exchanges, those of the library and those that programs write.
@Suite("Exchanges", .timeLimit(.minutes(1)))
struct ExchangeTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  private func store(_ name: String) throws -> Store {
    try Store(rootDirectoryURL: URL(fileURLWithPath: directory.file(name)))
  }

  private func value(_ id: String, _ text: String) -> Value {
    Value(idString: id, data: Data(text.utf8))
  }

  /// Makes a history with a merge, a removal, an empty value and an empty version.
  @discardableResult
  private func fill(_ store: Store) throws -> Version.ID {
    let root = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [value("a", "1"), value("b/c", ""), value("d", "x")])
    let one = try store.makeVersion(
      basedOnPredecessor: root.id, updating: [value("a", "2")],
      metadata: [.init("build"): .init(7)])
    let other = try store.makeVersion(
      basedOnPredecessor: root.id, updating: [value("a", "3")], removing: [Value.ID("d")])
    let merged = try store.merge(
      version: one.id, with: other.id, resolvingWith: MostRecentChangeFavoringArbiter())
    return try store.makeVersion(basedOnPredecessor: merged.id, storing: []).id
  }

  private func contents(_ store: Store) throws -> [Version.ID: [Value.ID: Data]] {
    var contents: [Version.ID: [Value.ID: Data]] = [:]
    for version in store.queryHistory(in: { Array($0) }) {
      contents[version.id] = [:]
      for reference in try store.valueReferences(at: version.id) {
        contents[version.id]?[reference.valueId] =
          try store.value(id: reference.valueId, at: version.id)?.data
      }
    }
    return contents
  }

  /// Sends from one store and retrieves into another, twice.
  private func check(_ sending: any Exchange, _ receiving: any Exchange) async throws {
    let last = try fill(sending.store)
    #expect(try await sending.send().count == 5)
    #expect(try await sending.send().isEmpty)
    #expect(try await receiving.retrieve().count == 5)
    #expect(try await receiving.retrieve().count == 5)
    #expect(receiving.store.mostRecentHead?.id == last)
    #expect(try contents(receiving.store) == contents(sending.store))
    #expect(
      try receiving.store.version(identifiedBy: last)
        == sending.store.version(identifiedBy: last))
  }

  @Test("a folder")
  func folder() async throws {
    let url = URL(fileURLWithPath: directory.file("folder"))
    try await check(
      FileSystemExchange(rootDirectoryURL: url, store: try store("a")),
      FileSystemExchange(rootDirectoryURL: url, store: try store("b")))
  }

  @Test("memory")
  func memory() async throws {
    let first = MemoryExchange(store: try store("a"))
    var news = first.newVersionsAvailable.makeAsyncIterator()
    try await check(first, MemoryExchange(store: try store("b"), place: first.place))
    #expect(await news.next() != nil)
  }

  /// An exchange that a program writes: the primitives and nothing else.
  private final class OwnExchange: Exchange {
    let store: Store
    private let files: Mutex<[String: Data]>

    init(store: Store, files: [String: Data] = [:]) {
      self.store = store
      self.files = Mutex(files)
    }

    var all: [String: Data] { files.withLock { $0 } }

    func retrieveAllVersionIdentifiers() async throws -> [Version.ID] {
      all.keys.filter { $0.hasPrefix("v-") }.map { Version.ID(String($0.dropFirst(2))) }
    }

    func retrieveVersions(identifiedBy versionIds: [Version.ID]) async throws -> [Version] {
      try versionIds.compactMap { id in
        try all["v-\(id.rawValue)"].map { try JSONDecoder().decode(Version.self, from: $0) }
      }
    }

    func retrieveValueChanges(
      forVersionsIdentifiedBy versionIds: [Version.ID]
    ) async throws -> [Version.ID: [Value.Change]] {
      var changes: [Version.ID: [Value.Change]] = [:]
      for id in versionIds {
        changes[id] = try all["c-\(id.rawValue)"].map {
          try JSONDecoder().decode([Value.Change].self, from: $0)
        }
      }
      return changes
    }

    func send(versionChanges: [VersionChanges]) async throws {
      for (version, changes) in versionChanges {
        let (one, other) = (try JSONEncoder().encode(version), try JSONEncoder().encode(changes))
        files.withLock {
          $0["v-\(version.id.rawValue)"] = one
          $0["c-\(version.id.rawValue)"] = other
        }
      }
    }
  }

  @Test("one that a program writes, of the primitives alone")
  func own() async throws {
    let sending = OwnExchange(store: try store("a"))
    try fill(sending.store)
    _ = try await sending.send()
    let receiving = OwnExchange(store: try store("b"), files: sending.all)
    _ = try await receiving.retrieve()
    #expect(try contents(receiving.store) == contents(sending.store))
    // What breaks a rule stays out with its descendants; what is not there yet comes later.
    var files = sending.all
    let root = try #require(sending.store.queryHistory { Array($0) }.last)
    let changes = files["c-\(root.id.rawValue)"]
    files["c-\(root.id.rawValue)"] = nil
    let early = OwnExchange(store: try store("c"), files: files)
    #expect(try await early.retrieve() == [])
    #expect(early.store.mostRecentHead == nil)
    files["c-\(root.id.rawValue)"] = Data("[{\"insert\":{\"id\":\"k\",\"data\":\"\"}}]".utf8)
    let wrong = OwnExchange(store: try store("d"), files: files)
    let outcome = try await wrong.retrieval()
    #expect(outcome.taken == [] && outcome.refused.count == 5 && outcome.refused[root.id] != nil)
    #expect(wrong.store.mostRecentHead == nil)
    files["c-\(root.id.rawValue)"] = changes
    let late = OwnExchange(store: early.store, files: files)
    #expect(try await late.retrieval().taken.count == 5)
    #expect(try contents(late.store) == contents(sending.store))
  }

  @Test("what an exchange leaves out is named: no changes, no description, no place in the format")
  func leftOut() async throws {
    let sending = OwnExchange(store: try store("a"))
    var ids: [Version.ID] = []
    for key in ["k", String(repeating: "long", count: 70), "..", "n"] {
      ids.append(
        try sending.store.makeVersion(
          basedOnPredecessor: ids.first, inserting: [value(key, "1")]
        ).id)
    }
    _ = try await sending.send()
    var files = sending.all
    files["c-\(ids[3].rawValue)"] = nil
    let target = try Store(
      rootDirectoryURL: URL(fileURLWithPath: directory.file("files")), storage: FileStorage())
    let receiving = OwnExchange(store: target, files: files)
    let outcome = try await receiving.retrieval()
    #expect(outcome.taken == [ids[0]] && Set(outcome.refused.keys) == Set(ids[1...]))
    #expect(try await receiving.retrieve() == [ids[0]])
    #expect(outcome.refused[ids[3]] == .notFound("the other side has no changes of the version"))
    // A coordinator tells it, and sends all the same.
    let coordinator = try StoreCoordinator(
      withStoreDirectoryAt: URL(fileURLWithPath: directory.file("c")))
    #expect(coordinator.lastRetrieval == nil)
    let exchange = OwnExchange(store: coordinator.store, files: files)
    coordinator.exchange = exchange
    let saved = try coordinator.save(inserting: [value("mine", "1")])
    try await coordinator.exchange()
    #expect(coordinator.lastRetrieval?.refused.keys.map { $0 } == [ids[3]])
    #expect(coordinator.lastRetrieval?.taken.count == 3)
    #expect(exchange.all["v-\(saved.id.rawValue)"] != nil)
    // The same in a folder whose file has other content.
    let folder = FileSystemExchange(
      rootDirectoryURL: URL(fileURLWithPath: directory.file("folder")), store: sending.store)
    _ = try await folder.send()
    try Data("{}".utf8).write(
      to: folder.changesDirectory.appendingPathComponent(ids[3].rawValue))
    let reading = FileSystemExchange(
      rootDirectoryURL: folder.rootDirectoryURL, store: try store("d"))
    let read = try await reading.retrieval()
    #expect(read.taken.count == 3 && read.refused.keys.map { $0 } == [ids[3]])
    #expect(try await !reading.retrieve().contains(ids[3]))
  }

  private final class CloudFiles: CloudFileSystem {
    private let files = Mutex<[String: Data]>([:])

    func fileExists(at path: String) async throws -> Bool { files.withLock { $0[path] != nil } }

    func contentsOfDirectory(at path: String) async throws -> [String] {
      let names = files.withLock { $0.keys.filter { $0.hasPrefix("\(path)/") } }
      guard !names.isEmpty else { throw CloudFileSystemError.directoryListingFailed }
      return names.map { String($0.dropFirst(path.utf8.count + 1)) }
    }

    func upload(data: Data, to path: String) async throws { files.withLock { $0[path] = data } }

    func download(from path: String) async throws -> Data {
      guard let data = files.withLock({ $0[path] }) else { throw CloudFileSystemError.fileNotFound }
      return data
    }

    func remove(at path: String) async throws { files.withLock { $0[path] = nil } }

    func removeDirectory(at path: String) async throws {
      files.withLock { files in files = files.filter { !$0.key.hasPrefix("\(path)/") } }
    }
  }

  @Test("a cloud file system")
  func cloud() async throws {
    let files = CloudFiles()
    try await check(
      CloudFileSystemExchange(cloudFileSystem: files, store: try store("a"), basePath: "x"),
      CloudFileSystemExchange(cloudFileSystem: files, store: try store("b"), basePath: "x"))
    let other = CloudFileSystemExchange(cloudFileSystem: files, store: try store("c"))
    #expect(try await other.retrieve().isEmpty)
  }

  @Test("a remote: here a directory, by the address of a peer")
  func remote() async throws {
    let path = directory.file("remote")
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false)
    let files = try RemoteFileSystem(address: path)
    try await check(
      CloudFileSystemExchange(cloudFileSystem: files, store: try store("a")),
      CloudFileSystemExchange(cloudFileSystem: files, store: try store("b")))
    try await files.upload(data: Data([1, 2]), to: "/snapshots/x/one")
    try await files.upload(data: Data([3]), to: "/snapshots/x/one")
    #expect(try await files.download(from: "snapshots/x/one") == Data([3]))
    #expect(try await files.fileExists(at: "snapshots/x/one"))
    try await files.remove(at: "snapshots/x/none")
    try await files.removeDirectory(at: "/snapshots/x")
    #expect(try await !files.fileExists(at: "snapshots/x/one"))
    await #expect(throws: CloudFileSystemError.fileNotFound) {
      try await files.download(from: "snapshots/x/one")
    }
    await #expect(throws: Store.Error.self) { try await files.download(from: "../x") }
    #expect(throws: Store.Error.self) { try RemoteFileSystem(address: "ftp://host/x") }
    // A program that reads folders reads it too.
    let folder = FileSystemExchange(
      rootDirectoryURL: URL(fileURLWithPath: path), store: try store("c"))
    #expect(try await folder.retrieve().count == 5)
  }

  private final class Box: FolderBasedExchange {
    let store: Store
    let versionsFolderID: Int? = 1
    let changesFolderID: Int? = 2
    private let shared: Shelf

    final class Shelf: Sendable {
      let files = Mutex<[Int: [String: Data]]>([:])
    }

    init(store: Store, shelf: Shelf) {
      self.store = store
      shared = shelf
    }

    func listFiles(inFolder folder: Int) async throws -> [String: [String]] {
      let names = shared.files.withLock { $0[folder]?.keys.map { $0 } ?? [] }
      return Dictionary(uniqueKeysWithValues: names.map { ($0, ["\(folder)", $0]) })
    }

    func downloadData(forFile fileID: [String]) async throws -> Data {
      shared.files.withLock { $0[Int(fileID[0]) ?? 0]?[fileID[1]] } ?? Data()
    }

    func uploadData(_ data: Data, named name: String, toFolder folder: Int) async throws {
      shared.files.withLock { $0[folder, default: [:]][name] = data }
    }
  }

  @Test("two folders with ids")
  func folders() async throws {
    let shelf = Box.Shelf()
    try await check(
      Box(store: try store("a"), shelf: shelf), Box(store: try store("b"), shelf: shelf))
  }

  private final class Wire: PeerTransport, Sendable {
    private struct Ends { weak var ends: MultipeerExchange? }
    private let peers = Mutex<[String: Ends]>([:])

    func connect(_ exchange: MultipeerExchange, as name: String) {
      peers.withLock { $0[name] = Ends(ends: exchange) }
    }

    func send(_ data: Data, toPeer peerID: String) throws {
      guard let peer = peers.withLock({ $0[peerID]?.ends }) else {
        throw CocoaError(.fileNoSuchFile)
      }
      peer.receiveData(data)
    }
  }

  @Test("a peer: what is asked for is answered, what is pushed arrives")
  func peers() async throws {
    let wire = Wire()
    let one = MultipeerExchange(store: try store("a"), peerID: "b", transport: wire)
    let other = MultipeerExchange(store: try store("b"), peerID: "a", transport: wire)
    await #expect(throws: (any Error).self) { try await one.retrieve() }
    wire.connect(one, as: "a")
    wire.connect(other, as: "b")
    one.receiveData(Data("nonsense".utf8))
    let last = try fill(one.store)
    #expect(try await other.retrieve().count == 5)
    #expect(try contents(other.store) == contents(one.store))
    let next = try one.store.makeVersion(basedOnPredecessor: last, inserting: [value("n", "1")])
    var news = other.newVersionsAvailable.makeAsyncIterator()
    #expect(try await one.send() == [next.id])
    #expect(await news.next() != nil)
    #expect(other.store.mostRecentHead?.id == next.id)
    // The peer's channel is gone.
    let alone = MultipeerExchange(store: other.store, peerID: "a", transport: nil)
    await #expect(throws: MultipeerExchange.Error.transportUnavailable) { try await alone.send() }
  }

  @Test("a version with an id of its own is added after the checks of an exchange")
  func adding() async throws {
    let (from, to) = (try store("a"), try store("b"))
    try fill(from)
    let versions = from.queryHistory { Array($0) }.reversed().map { $0 }
    for version in versions {
      try to.addVersion(
        version, storing: try from.valueChanges(madeInVersionIdentifiedBy: version.id))
    }
    #expect(try contents(to) == contents(from))
    #expect(throws: Store.Error.attemptToAddExistingVersion(versions[0].id)) {
      try to.addVersion(versions[0], storing: [])
    }
    let orphan = Version(predecessors: .init(idOfFirst: Version.ID()))
    #expect(throws: Store.Error.attemptToAddVersionWithNonexistingPredecessors(orphan)) {
      try to.addVersion(orphan, storing: [])
    }
    #expect(throws: Store.Error.self) {
      try to.addVersion(Version(id: Version.ID("../x")), storing: [])
    }
  }
}
