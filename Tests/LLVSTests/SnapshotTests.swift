import Foundation
import LLVS
import TestSupport
import Testing

/// Snapshots: whole stores in a few files.
@Suite("Snapshots", .timeLimit(.minutes(1)))
struct SnapshotTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  private func url(_ name: String) -> URL { URL(fileURLWithPath: directory.file(name)) }

  private func coordinator(
    _ name: String, _ folder: URL, policy: SnapshotPolicy = .disabled
  ) throws -> StoreCoordinator {
    let coordinator = try StoreCoordinator(
      withStoreDirectoryAt: url(name), snapshotPolicy: policy)
    coordinator.exchange = FileSystemExchange(rootDirectoryURL: folder, store: coordinator.store)
    return coordinator
  }

  private func contents(_ store: Store) throws -> [Version.ID: Set<Value>] {
    var contents: [Version.ID: Set<Value>] = [:]
    for version in store.queryHistory(in: { Array($0) }) {
      contents[version.id] = Set(
        try store.valueReferences(at: version.id).compactMap {
          try store.value(id: $0.valueId, at: version.id)
        })
    }
    return contents
  }

  @Test("a snapshot that the original wrote is what its exchange holds")
  func original() async throws {
    let resources = try #require(Bundle.module.resourceURL)
    let folder = url("folder")
    try FileManager.default.copyItem(
      at: resources.appendingPathComponent("stores/snapshot/exchange"), to: folder)
    let fresh = try coordinator("fresh", folder)
    #expect(try await fresh.bootstrapFromSnapshot())
    let other = try coordinator("other", folder)
    try await other.exchange()
    var (mine, theirs) = (try contents(fresh.store), try contents(other.store))
    // Each has an empty root of its own.
    for id in Set(mine.keys).symmetricDifference(theirs.keys) {
      #expect(
        mine.removeValue(forKey: id)?.isEmpty ?? theirs.removeValue(forKey: id)?.isEmpty == true)
    }
    #expect(mine == theirs && mine.count == 7)
    #expect(try !fresh.values().isEmpty)
    #expect(try await !fresh.bootstrapFromSnapshot())
  }

  @Test("a snapshot is made after an exchange, and a new device begins with it")
  func roundTrip() async throws {
    let folder = url("folder")
    let first = try coordinator("first", folder, policy: .auto)
    for round in 0..<10 {
      try first.save(updating: [
        Value(idString: "k\(round % 4)", data: Data(repeating: UInt8(round), count: 5000)),
        Value(idString: ".hidden/\(round)", data: Data("\(round)".utf8)),
      ])
    }
    try first.save(removing: [Value.ID("k1")])
    try await first.exchange()
    let exchange = FileSystemExchange(rootDirectoryURL: folder, store: first.store)
    let manifest = try #require(try await exchange.retrieveSnapshotManifest())
    #expect(manifest.format == "zip-v1" && manifest.versionCount == 12 && manifest.sha256 != nil)
    // The next one is not due.
    try await first.exchange()
    #expect(try await exchange.retrieveSnapshotManifest() == manifest)
    let second = try coordinator("second", folder)
    #expect(try await second.bootstrapFromSnapshot())
    #expect(second.currentVersion == first.currentVersion)
    #expect(try Set(second.values()) == Set(first.values()))
    let all = Set(second.store.queryHistory { $0.allVersionIdentifiers })
    #expect(all.isSuperset(of: first.store.queryHistory { $0.allVersionIdentifiers }))
  }

  @Test("a damaged snapshot and a strange one store nothing; a newer one leaves the full sync")
  func damage() async throws {
    let folder = url("folder")
    let first = try coordinator("first", folder, policy: .auto)
    try first.save(updating: [Value(idString: "k", data: Data(repeating: 7, count: 50_000))])
    try await first.exchange()
    let exchange = FileSystemExchange(rootDirectoryURL: folder, store: first.store)
    let manifest = try #require(try await exchange.retrieveSnapshotManifest())
    let chunk = try await exchange.retrieveSnapshotChunk(index: 0)
    func check(_ manifest: SnapshotManifest, _ chunk: Data, _ name: String) async throws {
      try await exchange.sendSnapshot(manifest: manifest) { _ in chunk }
      let other = try coordinator(name, folder)
      let count = other.store.queryHistory { $0.allVersionIdentifiers.count }
      await #expect(throws: (any Error).self) { try await other.bootstrapFromSnapshot() }
      #expect(other.store.queryHistory { $0.allVersionIdentifiers.count } == count)
    }
    var flipped = chunk
    flipped[chunk.count / 3] ^= 1
    try await check(manifest, flipped, "a")
    var unchecked = manifest
    unchecked.sha256 = nil
    unchecked.totalSize -= 1
    try await check(unchecked, chunk.dropLast(), "b")
    try await check(manifest, chunk.dropLast(), "c")
    var newer = manifest
    newer.format = "zip-v2"
    try await exchange.sendSnapshot(manifest: newer) { _ in chunk }
    let full = try coordinator("d", folder)
    #expect(try await !full.bootstrapFromSnapshot())
    try await full.exchange()
    #expect(try full.merge() && full.currentVersion == first.currentVersion)
    // Files one after the other, as older programs have them, with a path that leads elsewhere.
    var framed = Data()
    for part in ["values/../../out", "x"] {
      framed.append(contentsOf: [UInt8(part.utf8.count), 0, 0, 0])
      framed.append(Data(part.utf8))
    }
    var old = manifest
    (old.format, old.sha256, old.totalSize) = ("fileStorage-v1", nil, Int64(framed.count))
    try await check(old, framed, "e")
    #expect(!FileManager.default.fileExists(atPath: directory.file("out")))
    var strange = manifest
    strange.snapshotId = "../versions"
    await #expect(throws: FileSystemExchange.Error.snapshotIdNotPathSafe("../versions")) {
      try await exchange.sendSnapshot(manifest: strange) { _ in chunk }
    }
    #expect(!strange.hasPathSafeId && manifest.hasPathSafeId)
  }
}
