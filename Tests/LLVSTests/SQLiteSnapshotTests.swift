import Foundation
import LLVS
import LLVSSQLite
import TestSupport
import Testing

/// Snapshots in `sqliteStorage-v1`: the files of a store that the original keeps in SQLite, one
/// after the other.
@Suite("Snapshots of stores in SQLite", .timeLimit(.minutes(1)))
struct SQLiteSnapshotTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  private func url(_ name: String) -> URL { URL(fileURLWithPath: directory.file(name)) }

  private func resource(_ name: String) throws -> URL {
    try #require(Bundle.module.resourceURL).appendingPathComponent("stores/\(name)")
  }

  /// A file of a snapshot: length of the path, path, length, bytes.
  private func entry(_ path: String, _ data: Data) -> Data {
    func number(_ count: Int) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
    }
    var entry = Data(number(path.utf8.count))
    entry.append(Data(path.utf8))
    entry.append(contentsOf: number(data.count))
    entry.append(data)
    return entry
  }

  /// Returns the files of a store as the original writes them: whole files in parts of up to 4,096
  /// bytes, a longer file in a part of its own, without hidden files.
  private func chunks(of store: URL) throws -> [Data] {
    var chunks = [Data()]
    let all = try #require(FileManager.default.enumerator(atPath: store.path))
    for case let path as String in all {
      let file = store.appendingPathComponent(path)
      var isDirectory: ObjCBool = false
      guard FileManager.default.fileExists(atPath: file.path, isDirectory: &isDirectory),
        !isDirectory.boolValue
      else { continue }
      let entry = entry(path, try Data(contentsOf: file))
      if !chunks[chunks.count - 1].isEmpty, chunks[chunks.count - 1].count + entry.count > 4096 {
        chunks.append(Data())
      }
      chunks[chunks.count - 1].append(entry)
    }
    return chunks
  }

  /// Writes a snapshot beside the versions of an exchange, as older originals do: its parts directly
  /// in `snapshots`, and a description without a sum.
  private func write(
    _ chunks: [Data], versions: Int, latest: String, to folder: URL
  ) throws {
    let snapshots = folder.appendingPathComponent("snapshots")
    try FileManager.default.createDirectory(at: snapshots, withIntermediateDirectories: true)
    for (index, chunk) in chunks.enumerated() {
      try chunk.write(to: snapshots.appendingPathComponent(String(format: "chunk-%03d", index)))
    }
    let manifest = """
      {"snapshotId":"\(UUID().uuidString)","format":"sqliteStorage-v1","createdAt":794000000.5,
      "latestVersionId":"\(latest)","versionCount":\(versions),"chunkCount":\(chunks.count),
      "totalSize":\(chunks.map(\.count).reduce(0, +))}
      """
    try Data(manifest.utf8).write(to: snapshots.appendingPathComponent("manifest.json"))
  }

  private func coordinator(_ name: String, _ folder: URL) throws -> StoreCoordinator {
    let coordinator = try StoreCoordinator(withStoreDirectoryAt: url(name))
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

  @Test(
    "a store that the original wrote comes out of a snapshot as out of its exchange",
    arguments: ["insert-update-remove", "merge-most-recent-change", "metadata", "keys"])
  func reading(_ name: String) async throws {
    let folder = url("folder")
    let exchange = try resource("\(name)/exchange")
    let versions = try FileManager.default.contentsOfDirectory(
      atPath: exchange.appendingPathComponent("versions").path)
    let source = try Store(rootDirectoryURL: url("source"))
    _ = try await FileSystemExchange(rootDirectoryURL: exchange, store: source).retrieve()
    let latest = try #require(source.mostRecentHead)
    let chunks = try chunks(of: try resource("\(name)/store-sqlite"))
    #expect(chunks.count > 1)
    // There are no versions in the folder: all come from the snapshot.
    try write(chunks, versions: versions.count, latest: latest.id.rawValue, to: folder)
    let fresh = try coordinator("fresh", folder)
    #expect(try await fresh.bootstrapFromSnapshot())
    #expect(fresh.currentVersion == latest.id)
    let wanted = try contents(source)
    #expect(try contents(fresh.store).filter { wanted[$0.key] != nil } == wanted)
    for version in source.queryHistory(in: { Array($0) }) {
      let found = try #require(try fresh.store.version(identifiedBy: version.id))
      #expect(found.metadata == version.metadata && found.predecessors == version.predecessors)
    }
    // What is sent from here is what the original's own exchange sent.
    try await fresh.exchange()
    let other = try Store(rootDirectoryURL: url("other"))
    _ = try await FileSystemExchange(rootDirectoryURL: folder, store: other).retrieve()
    #expect(try contents(other).filter { wanted[$0.key] != nil } == wanted)
  }

  /// Expects that a snapshot is refused, and that the store is as it was.
  private func expectRefusal(_ name: String, _ chunks: [Data], versions: Int = 5) async throws {
    let folder = url("folder-\(name)")
    try write(chunks, versions: versions, latest: "X", to: folder)
    let other = try coordinator(name, folder)
    let before = other.store.queryHistory { $0.allVersionIdentifiers }
    await #expect(throws: Store.Error.self, "\(name)") { try await other.bootstrapFromSnapshot() }
    #expect(other.store.queryHistory { $0.allVersionIdentifiers } == before)
    #expect(before.count == 1)
  }

  @Test("a damaged one stores nothing, wherever it is damaged")
  func damage() async throws {
    let chunks = try chunks(of: try resource("insert-update-remove/store-sqlite"))
    try await expectRefusal("short", [chunks.reduce(Data(), +).dropLast(3)])
    try await expectRefusal("lengths", [Data(repeating: 0xFF, count: 64)])
    try await expectRefusal("nothing", [])
    try await expectRefusal("versions", chunks, versions: 99)
    try await expectRefusal("fewer", chunks, versions: 0)
    try await expectRefusal("lost", Array(chunks.dropLast()))
    // The header and the first page of each database.
    for name in ["values/zone.sqlite", "maps/__llvs_values/zone.sqlite"] {
      let file = try resource("insert-update-remove/store-sqlite/\(name)")
      let sound = try Data(contentsOf: file)
      for place in [3, 18, 100] {
        var damaged = sound
        for offset in 0..<8 { damaged[place + offset] ^= 0xA5 }
        // The first of two files with one path counts.
        try await expectRefusal("\(name.prefix(3))-\(place)", [entry(name, damaged)] + chunks)
      }
    }
  }

  /// Makes an SQLite file by statements.
  private func database(_ name: String, _ statements: String...) throws -> Data {
    let file = url(name)
    let database = try SQLiteDatabase(fileURL: file)
    for statement in statements { try database.execute(statement: statement) }
    return try Data(contentsOf: file)
  }

  @Test("zones that are computed when they are read are refused, and journals are not taken")
  func hostile() async throws {
    let store = try resource("insert-update-remove/store-sqlite")
    let rest = try chunks(of: store)
    let endless = """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
      SELECT 'k' AS key, 'v' AS version, i AS data FROM n WHERE i < 0
      """
    let indexes = [
      "CREATE TABLE t(key, version)", "CREATE INDEX index_key ON t(key)",
      "CREATE INDEX index_version ON t(version)",
    ]
    let view = try database(
      "view", indexes[0], indexes[1], indexes[2], "CREATE VIEW Zone AS \(endless)")
    let lower = try database(
      "lower", indexes[0], indexes[1], indexes[2], "CREATE VIEW zone AS \(endless)")
    let generated = try database(
      "generated",
      "CREATE TABLE Zone(key TEXT, version TEXT, data BLOB AS (zeroblob(900000000)))")
    let search = try database("search", "CREATE VIRTUAL TABLE Zone USING fts4(key, version, data)")
    for (name, bytes) in [
      ("view", view), ("lower", lower), ("generated", generated), ("search", search),
    ] {
      for place in ["values", "maps/__llvs_values"] {
        try await expectRefusal(
          "\(name)-\(place.prefix(3))", [entry("\(place)/zone.sqlite", bytes)] + rest)
      }
    }
    // A path that leads elsewhere.
    try await expectRefusal("up", [entry("values/../../up.json", Data([1]))] + rest)
    try await expectRefusal("root", [entry("/values/up.json", Data([1]))] + rest)
    #expect(!FileManager.default.fileExists(atPath: directory.file("up.json")))
    // A journal would be played back, and a store of the engine would be opened.
    let folder = url("folder")
    let extra = [
      "values/zone.sqlite-journal", "values/zone.sqlite-wal", "store.sqlite", "values/.x",
    ]
    try write(
      extra.map { entry($0, Data(repeating: 0xD9, count: 600)) } + rest, versions: 5, latest: "X",
      to: folder)
    let fresh = try coordinator("fresh", folder)
    #expect(try await fresh.bootstrapFromSnapshot())
    let source = try Store(rootDirectoryURL: url("source"))
    _ = try await FileSystemExchange(
      rootDirectoryURL: try resource("insert-update-remove/exchange"), store: source
    ).retrieve()
    let wanted = try contents(source)
    #expect(try contents(fresh.store).filter { wanted[$0.key] != nil } == wanted)
  }

  @Test("a store in SQLite whose zone is a view is not opened")
  func openedDirectly() throws {
    let store = url("s")
    try FileManager.default.copyItem(
      at: try resource("insert-update-remove/store-sqlite"), to: store)
    let bytes = try database("view", "CREATE VIEW Zone AS SELECT 1 AS key, 2 AS version, 3 AS data")
    try bytes.write(to: store.appendingPathComponent("values/zone.sqlite"))
    #expect(throws: Store.Error.self) {
      try Store(rootDirectoryURL: store, storage: SQLiteStorage())
    }
  }
}
