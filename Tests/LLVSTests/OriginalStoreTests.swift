import Foundation
import LLVS
import LLVSSQLite
import TestSupport
import Testing

/// Stores in the original's own formats, opened in place; those of the resources were written by the
/// original.
@Suite("Stores in the original's formats", .timeLimit(.minutes(1)))
struct OriginalStoreTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  private func url(_ name: String) -> URL { URL(fileURLWithPath: directory.file(name)) }

  /// Copies a resource, which tests then change.
  private func copy(_ name: String) throws -> URL {
    let resources = try #require(Bundle.module.resourceURL)
    let source = resources.appendingPathComponent("stores/\(name)")
    let target = url(name.replacingOccurrences(of: "/", with: "-"))
    try FileManager.default.copyItem(at: source, to: target)
    return target
  }

  private func contents(_ store: Store) throws -> [Version.ID: [Value.Reference: Data]] {
    var contents: [Version.ID: [Value.Reference: Data]] = [:]
    for version in store.queryHistory(in: { Array($0) }) {
      contents[version.id] = [:]
      for reference in try store.valueReferences(at: version.id) {
        contents[version.id]?[reference] = try store.value(storedAt: reference)?.data
      }
    }
    return contents
  }

  /// Returns a store of the engine that has retrieved the folder of a case.
  private func retrieved(_ name: String) async throws -> Store {
    let store = try Store(rootDirectoryURL: url("engine"))
    let exchange = FileSystemExchange(
      rootDirectoryURL: try copy("\(name)/exchange"), store: store)
    _ = try await exchange.retrieve()
    return store
  }

  @Test(
    "what the original wrote is read in place, as from its exchange",
    arguments: [
      ("insert-update-remove", "file"), ("insert-update-remove", "sqlite"),
      ("merge-most-recent-change", "file"), ("merge-most-recent-change", "sqlite"),
      ("metadata", "file"), ("metadata", "sqlite"), ("keys", "sqlite"),
    ])
  func reading(_ name: String, _ format: String) async throws {
    let url = try copy("\(name)/store-\(format)")
    let store =
      format == "file"
      ? try Store(rootDirectoryURL: url)
      : try Store(rootDirectoryURL: url, storage: SQLiteStorage())
    let engine = try await retrieved(name)
    #expect(try contents(store) == contents(engine))
    #expect(store.queryHistory { $0.headIdentifiers } == engine.queryHistory { $0.headIdentifiers })
    for version in engine.queryHistory(in: { Array($0) }) {
      let found = try #require(try store.version(identifiedBy: version.id))
      #expect(found.metadata == version.metadata && found.predecessors == version.predecessors)
      #expect(found.successors == version.successors && found.timestamp == version.timestamp)
    }
    let branch = Branch(rawValue: "experiment/ü 1")
    #expect(store.heads(withBranch: branch) == engine.heads(withBranch: branch))
    // The program goes on with it.
    let head = try #require(store.mostRecentHead)
    let next = try store.makeVersion(
      basedOnPredecessor: head.id, inserting: [Value(idString: "new", data: Data([7]))])
    #expect(store.mostRecentHead?.id == next.id)
    let again =
      format == "file"
      ? try Store(rootDirectoryURL: url)
      : try Store(rootDirectoryURL: url, storage: SQLiteStorage())
    #expect(try again.value(idString: "new", at: next.id)?.data == Data([7]))
    #expect(try contents(again) == contents(store))
  }

  private func fill(_ store: Store) throws {
    func value(_ id: String, _ text: String) -> Value {
      Value(idString: id, data: Data(text.utf8))
    }
    let root = try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: [value("a/b:c", "1"), value("", ""), value("kept", "k"), value("gone", "g")])
    let one = try store.makeVersion(
      basedOnPredecessor: root.id, inserting: [value("one", "1")], updating: [value("a/b:c", "2")])
    let other = try store.makeVersion(
      basedOnPredecessor: root.id, inserting: [value("other", "1")],
      updating: [value("a/b:c", "3")], removing: [Value.ID("gone")],
      metadata: [.init("build"): .init(42)])
    let merged = try store.merge(
      version: one.id, with: other.id, resolvingWith: MostRecentChangeFavoringArbiter())
    #expect(try store.value(idString: "a/b:c", at: merged.id)?.data == Data("3".utf8))
    #expect(try store.value(idString: "other", at: merged.id) != nil)
    #expect(try store.value(idString: "one", at: merged.id) != nil)
    #expect(try store.value(idString: "gone", at: merged.id) == nil)
    #expect(try store.versionIds(for: Value.ID("a/b:c")) == [other.id, one.id, root.id])
    #expect(
      try store.queryHistory {
        try $0.greatestCommonAncestor(ofVersionsIdentifiedBy: (one.id, other.id))
      } == root.id)
  }

  @Test(
    "a new one is filled, merged, read again, and exchanged with the engine's", arguments: [0, 1])
  func writing(_ format: Int) async throws {
    func open() throws -> Store {
      try Store(
        rootDirectoryURL: url("s"), storage: format == 0 ? FileStorage() : SQLiteStorage())
    }
    let store = try open()
    try fill(store)
    #expect(try contents(open()) == contents(store))
    let engine = try Store(rootDirectoryURL: url("engine"))
    let memory = MemoryExchange(store: store)
    _ = try await memory.send()
    _ = try await MemoryExchange(store: engine, place: memory.place).retrieve()
    let (mine, theirs) = (try contents(store), try contents(engine))
    #expect(mine.mapValues { Set($0.values) } == theirs.mapValues { Set($0.values) })
    let head = try #require(engine.mostRecentHead)
    let next = try engine.makeVersion(basedOnPredecessor: head.id, removing: [Value.ID("kept")])
    let folder = FileSystemExchange(rootDirectoryURL: url("folder"), store: engine)
    _ = try await folder.send()
    _ = try await FileSystemExchange(rootDirectoryURL: url("folder"), store: store).retrieve()
    #expect(store.mostRecentHead?.id == next.id)
    #expect(try store.value(idString: "kept", at: next.id) == nil)
  }

  @Test("keys that the format of files cannot tell apart, or that lead elsewhere, are refused")
  func names() throws {
    let store = try Store(rootDirectoryURL: url("s"), storage: FileStorage())
    func make(_ keys: String...) throws {
      try store.makeVersion(
        basedOnPredecessor: nil, inserting: keys.map { Value(idString: $0, data: Data([1])) })
    }
    #expect(throws: Store.Error.self) { try make("..") }
    #expect(throws: Store.Error.self) { try make("..versions") }
    #expect(throws: Store.Error.self) { try make("a:b", "aLLVSCOLONb") }
    #expect(throws: Store.Error.self) { try make("", ".") }
    #expect(store.mostRecentHead == nil)
    try make("a:b")
    try make("aLLVSCOLONb")
    #expect(try Store(rootDirectoryURL: url("s")).queryHistory { $0.headIdentifiers }.count == 2)
  }

  @Test("a version of another object is read, and continued, by its id alone", arguments: [0, 1])
  func otherObjects(_ format: Int) throws {
    func open() throws -> Store {
      try Store(
        rootDirectoryURL: url("s"), storage: format == 0 ? FileStorage() : SQLiteStorage())
    }
    let (one, other) = (try open(), try open())
    let root = try one.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(idString: "k", data: Data([1]))])
    let next = try one.makeVersion(basedOnPredecessor: root.id, removing: [Value.ID("k")])
    #expect(other.mostRecentHead == nil)
    #expect(try other.version(identifiedBy: next.id)?.predecessors?.ids == [root.id])
    #expect(try other.value(idString: "k", at: root.id)?.data == Data([1]))
    #expect(try other.valueChanges(madeBetween: root.id, and: next.id) == [.remove(Value.ID("k"))])
    let last = try other.makeVersion(basedOnPredecessor: next.id, storing: [])
    #expect(one.historyIncludesVersions(identifiedBy: [last.id]))
    for strange in ["", "..", "../versions", "a/b", "none"] {
      #expect(try other.version(identifiedBy: Version.ID(strange)) == nil)
    }
    try one.reloadHistory()
    #expect(one.mostRecentHead?.id == last.id)
  }

  @Test("the key \"..\", which the original puts next to the values, leaves the rest readable")
  func upwards() throws {
    let root = url("s")
    let store = try Store(rootDirectoryURL: root, storage: FileStorage())
    let first = try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: ["xx", "xxversions", "kept"].map { Value(idString: $0, data: Data($0.utf8)) })
    let second = try store.makeVersion(
      basedOnPredecessor: first.id, updating: [Value(idString: "kept", data: Data([2]))])
    // As the original has the same versions with ".." for "xx".
    for (from, to) in [("values/xx", "."), ("maps/__llvs_values/xx", "maps")] {
      let moved = try shell(
        "cp -a \(root.path)/\(from)/. \(root.path)/\(to) && rm -r \(root.path)/\(from)")
      #expect(moved.status == 0)
    }
    #expect(
      try shell("grep -rlZ '\"xx' \(root.path) | xargs -0 sed -i 's/\"xx/\"../g'").status == 0)
    let again = try Store(rootDirectoryURL: root)
    for version in [first, second] {
      #expect(try again.valueReferences(at: version.id).count == 3)
      #expect(try again.value(idString: "..", at: version.id)?.data == Data("xx".utf8))
      #expect(try again.value(idString: "..versions", at: version.id) != nil)
    }
    let engine = try Store(rootDirectoryURL: url("engine"))
    try engine.addVersions(of: again)
    #expect(try engine.value(idString: "..", at: second.id)?.data == Data("xx".utf8))
  }

  /// A zone of a program's own, in memory.
  private final class MemoryStorage: Storage {
    final class Zone: LLVS.Zone {
      var all: [ZoneReference: Data] = [:]
      func store(_ data: Data, for reference: ZoneReference) throws { all[reference] = data }
      func data(for reference: ZoneReference) throws -> Data? { all[reference] }
    }
    let (values, map) = (Zone(), Zone())
    func makeValuesZone(in store: Store) throws -> any LLVS.Zone { values }
    func makeMapZone(for type: MapType, in store: Store) throws -> any LLVS.Zone { map }
  }

  @Test("a storage of a program's own")
  func ownStorage() throws {
    let storage = MemoryStorage()
    let store = try Store(rootDirectoryURL: url("s"), storage: storage)
    try fill(store)
    #expect(storage.values.all.count == 8 && store.storage is MemoryStorage)
    let again = try Store(rootDirectoryURL: url("s"), storage: storage)
    #expect(try contents(again) == contents(store))
  }

  @Test("a damaged file of a version, and a missing one, are told of by name")
  func damage() throws {
    let url = try copy("insert-update-remove/store-file")
    let root = try #require(
      try Store(rootDirectoryURL: url).queryHistory { Array($0) }.last?.id.rawValue)
    let file = url.appendingPathComponent("versions/\(root.prefix(2))/\(root.dropFirst(2)).json")
    try Data("{\"identifier\":".utf8).write(to: file)
    do {
      _ = try Store(rootDirectoryURL: url)
      Issue.record("it was opened")
    } catch Store.Error.corrupt(let text) {
      #expect(text.contains(file.lastPathComponent))
    }
    try FileManager.default.removeItem(at: file)
    do {
      _ = try Store(rootDirectoryURL: url)
      Issue.record("it was opened")
    } catch Store.Error.corrupt(let text) {
      #expect(text.contains(root))
    }
  }

  @Test(
    "a store of the engine is not opened as one of the original's, and bytes in LZFSE are named")
  func refused() throws {
    _ = try Store(rootDirectoryURL: url("engine"))
    #expect(throws: Store.Error.self) {
      try Store(rootDirectoryURL: url("engine"), storage: FileStorage())
    }
    let store = try Store(rootDirectoryURL: url("s"), storage: FileStorage())
    let version = try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: [
        Value(idString: "k", data: Data("LLZFbvx2".utf8)),
        Value(idString: "plain", data: Data("LLZF is text".utf8)),
      ])
    #expect(try store.value(idString: "plain", at: version.id)?.data.count == 12)
    #expect(throws: Store.Error.self) { try store.value(idString: "k", at: version.id) }
  }
}
