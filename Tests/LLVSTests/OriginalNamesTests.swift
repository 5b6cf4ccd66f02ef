// As a program written for the original has it: nothing but the module.
import Foundation
import LLVS
import TestSupport
import Testing

/// Every public name of the original that stands in its description, used once. Not here are those of its
/// files and system: storages and zones, snapshots, compaction, CloudKit, Combine's publishers (their place
/// is ``StoreCoordinator/currentVersionUpdates``) and its general utilities.
@Suite("The original's names", .timeLimit(.minutes(1)))
struct OriginalNamesTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func url(_ name: String) -> URL { URL(fileURLWithPath: directory.file(name)) }

  private func value(_ id: String, _ text: String) -> Value {
    Value(id: Value.ID(id), data: Data(text.utf8))
  }

  private struct OwnError: Error {}

  private func check(_ value: Value) throws {
    guard value.data.count < 100 else { throw OwnError() }
  }

  private let build = Version.MetadataKey("build")

  private struct TakeSecond: MergeArbiter {
    func changes(toResolve merge: Merge, in store: Store) throws -> [Value.Change] {
      var changes: [Value.Change] = []
      for (id, fork) in merge.forksByValueIdentifier where fork.isConflicting {
        let reference = try store.valueReference(id: id, at: merge.versions.second.id)
        changes.append(reference.map { .preserve($0) } ?? .preserveRemoval(id))
      }
      return changes
    }
  }

  @Test("store, history, values and versions")
  func store() throws {
    let store = try Store(rootDirectoryURL: url("s"))
    #expect(store.rootDirectoryURL.path == directory.file("s"))
    let branch = Branch(rawValue: "side")
    let named = Branch(randomizedNameBasedOn: "side")
    #expect(named.rawValue.hasPrefix("side_"))
    let metadata: Version.Metadata = [
      build: Version.MetadataValue(42), .branch: Version.MetadataValue(branch.rawValue),
    ]
    let root = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [value("a", "1"), value("b", "1")])
    let side = try store.makeVersion(
      basedOnPredecessor: root.id, updating: [value("a", "2")], removing: [Value.ID("b")],
      metadata: metadata)
    let main = try store.makeVersion(
      basedOnPredecessor: root.id, storing: [.insert(value("c", "3")), .update(value("a", "4"))])
    try store.reloadHistory()
    #expect(side.predecessors == Version.Predecessors(idOfFirst: root.id))
    #expect(side.metadata[build]?.value() == 42 && side.valueDataSize == 1)
    #expect(side.metadata[build]?.valueIfDecodable() as String? == nil)
    #expect(try store.value(id: Value.ID("a"), at: side.id)?.data == Data("2".utf8))
    #expect(try store.value(idString: "b", at: side.id) == nil)
    #expect(try store.value(id: Value.ID("a"), storedAt: root.id)?.data == Data("1".utf8))
    let reference = try #require(try store.valueReference(id: Value.ID("c"), at: main.id))
    #expect(reference == Value.Reference(valueId: Value.ID("c"), storedVersionId: main.id))
    let stored = try #require(try store.value(storedAt: reference))
    #expect(stored.reference == reference && stored.storedVersionId == main.id)
    #expect(try store.valueReferences(at: root.id).count == 2)
    var keys: [String] = []
    try store.enumerate(version: main.id) { keys.append($0.valueId.rawValue) }
    #expect(keys == ["a", "b", "c"])
    // Closures of several statements, and errors of the program's own.
    var bytes = 0
    try store.enumerate(version: main.id) { reference in
      guard let value = try store.value(storedAt: reference) else { return }
      try check(value)
      bytes += value.data.count
    }
    #expect(bytes == 3)
    #expect(throws: OwnError.self) {
      try store.enumerate(version: main.id) { _ in throw OwnError() }
    }
    #expect(try store.versionIds(for: Value.ID("a")).count == 3)
    #expect(store.hasMultipleHeads && store.mostRecentHead?.id == main.id)
    #expect(store.heads(withBranch: branch) == [side.id])
    #expect(store.historyIncludesVersions(identifiedBy: [root.id, side.id]))
    #expect(try store.version(identifiedBy: Version.ID()) == nil)
    try store.queryHistory { (history) throws in
      #expect(history.headIdentifiers == [side.id, main.id])
      #expect(Set(history.allVersionIdentifiers) == [root.id, side.id, main.id])
      #expect(history.mostRecentHead?.id == main.id)
      #expect(history.version(identifiedBy: root.id)?.id == root.id)
      #expect(
        try history.greatestCommonAncestor(ofVersionsIdentifiedBy: (side.id, main.id)) == root.id)
      #expect(history.map(\.id) == [main.id, side.id, root.id])
    }
    #expect(try store.valueChanges(madeInVersionIdentifiedBy: side.id).count == 2)
    #expect(try store.valueChanges(madeBetween: root.id, and: main.id).count == 2)
    let merged = try store.merge(version: main.id, with: side.id, resolvingWith: TakeSecond())
    #expect(try store.value(idString: "a", at: merged.id)?.data == Data("2".utf8))
  }

  @Test("merging by each of the names, and what is refused")
  func merging() throws {
    let store = try Store(rootDirectoryURL: url("s"))
    let one = try store.makeVersion(basedOnPredecessor: nil, inserting: [value("a", "1")])
    let two = try store.makeVersion(basedOnPredecessor: nil, inserting: [value("b", "1")])
    let arbiter = MostRecentChangeFavoringArbiter()
    #expect(throws: Store.Error.self) {
      try store.mergeRelated(version: one.id, with: two.id, resolvingWith: arbiter)
    }
    let both = try store.mergeUnrelated(version: one.id, with: two.id, resolvingWith: arbiter)
    #expect(try store.valueReferences(at: both.id).count == 2)
    let tip = try store.makeVersion(basedOnPredecessor: both.id, updating: [value("a", "2")])
    let side = try store.makeVersion(
      basedOnPredecessor: both.id, removing: [Value.ID("a")],
      metadata: [.branch: Version.MetadataValue("side")])
    #expect(store.headsToMerge(into: tip.id) == [])
    #expect(
      try store.mergeHeads(
        into: tip.id, resolvingWith: arbiter,
        headSelection: .specificBranchesOnly([Branch(rawValue: "other")])) == nil)
    let last = try #require(
      try store.mergeHeads(
        into: tip.id, resolvingWith: MostRecentBranchFavoringArbiter(), headSelection: .all))
    #expect(try store.value(idString: "a", at: last) == nil)
    #expect(store.headsToMerge(into: side.id, headSelection: .all) == [last])
    #expect(throws: Store.Error.self) { try store.value(idString: "a", at: Version.ID("none")) }
  }

  @Test("coordinators exchange, merge and tell of the version they are at")
  func coordinator() async throws {
    let (a, b) = (
      try StoreCoordinator(withStoreDirectoryAt: url("a"), cacheDirectoryAt: url("cache")),
      try StoreCoordinator(withStoreDirectoryAt: url("b"))
    )
    #expect(a.storeDirectoryURL.path == directory.file("a"))
    // Without anything to exchange with, nothing happens.
    try await a.exchange()
    for coordinator in [a, b] {
      coordinator.exchange = FileSystemExchange(
        rootDirectoryURL: url("folder"), store: coordinator.store)
      #expect(coordinator.exchangeRestorationData == nil && !coordinator.isExchanging)
    }
    var versions = a.currentVersionUpdates.makeAsyncIterator()
    #expect(await versions.next() == a.currentVersion)
    a.defaultMetadataForNewVersions = [build: Version.MetadataValue("a")]
    try a.save(inserting: [value("a", "1")])
    #expect(await versions.next() == a.currentVersion)
    a.defaultMetadataForNewVersions = [:]
    try a.save(updating: [value("b", "1")], removing: [])
    try b.save([.insert(value("c", "1"))])
    let before = (a.currentVersion, b.currentVersion)
    try await a.exchange()
    // The other name of it, for those who do not wait.
    let error: (any Error)? = await withCheckedContinuation { continuation in
      b.exchange(executingUponCompletion: { continuation.resume(returning: $0) })
    }
    #expect(error == nil)
    async let first: Void = a.exchange()
    async let second: Void = a.exchange()
    _ = try await (first, second)
    #expect((a.currentVersion, b.currentVersion) == before)
    #expect(!a.isExchanging && !b.isExchanging)
    a.mergeArbiter = MostRecentChangeFavoringArbiter()
    #expect(try a.merge() && b.merge())
    #expect(a.currentVersion == b.currentVersion)
    #expect(await versions.next() == a.currentVersion)
    #expect(try a.values().map(\.id.rawValue) == ["a", "b", "c"])
    #expect(try a.values(at: before.1).map(\.id.rawValue) == ["c"])
    let branch = Branch(rawValue: "side")
    try b.save([.update(value("c", "2"))], in: branch)
    #expect(try b.value(idString: "c", on: branch)?.data == Data("2".utf8))
    #expect(try b.value(id: Value.ID("c"), on: nil) == b.value(idString: "c"))
    #expect(b.versionForBranchOrCurrentHead(for: branch) == b.heads(withBranch: branch).first)
    #expect(try b.valueReferences(at: nil).count == 3)
  }

  @Test("an exchange that fails says so and is over")
  func failure() async throws {
    let coordinator = try StoreCoordinator(withStoreDirectoryAt: url("a"))
    let folder = url("folder")
    coordinator.exchange = FileSystemExchange(rootDirectoryURL: folder, store: coordinator.store)
    try FileManager.default.removeItem(at: folder)
    await #expect(throws: Store.Error.self) { try await coordinator.exchange() }
    #expect(!coordinator.isExchanging)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try await coordinator.exchange()
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().contains("versions")
    )
  }
}
