import Foundation
import LLVS
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StoreCoordinatorTests {
  @Test("a coordinator saves, remembers where it is, and merges what others made")
  func life() throws {
    let directory = try TemporaryDirectory()
    let url = URL(fileURLWithPath: directory.file("s"))
    func value(_ key: String, _ text: String) -> Value {
      Value(id: Value.ID(key), data: Data(text.utf8))
    }
    let saved: Version
    do {
      let coordinator = try StoreCoordinator(withStoreDirectoryAt: url)
      #expect(try coordinator.valueReferences().isEmpty)
      saved = try coordinator.save(inserting: [value("a", "1"), value("b", "1")])
      #expect(coordinator.currentVersion == saved.id)
    }
    let coordinator = try StoreCoordinator(withStoreDirectoryAt: url)
    #expect(coordinator.currentVersion == saved.id)
    try coordinator.store.makeVersion(
      basedOnPredecessor: saved.id, updating: [value("b", "2")])
    try coordinator.save(updating: [value("a", "2")])
    #expect(try coordinator.merge())
    #expect(try !coordinator.merge())
    let texts = try coordinator.values(ids: [Value.ID("a"), Value.ID("none"), Value.ID("b")])
      .map { String(decoding: $0.data, as: UTF8.self) }
    #expect(texts == ["2", "2"])
    let side = try coordinator.save([.insert(value("c", "3"))], in: Branch(rawValue: "side"))
    #expect(
      coordinator.store.heads(withBranch: Branch(rawValue: "side")) == [side.id])
    #expect(try coordinator.value(idString: "c")?.data == Data("3".utf8))
  }

  private func value(_ key: String, _ text: String) -> Value {
    Value(id: Value.ID(key), data: Data(text.utf8))
  }

  private func text(_ coordinator: StoreCoordinator, _ key: String) throws -> String? {
    try coordinator.value(idString: key).map { String(decoding: $0.data, as: UTF8.self) }
  }

  @Test("heads are selected as the original does: branches stay out unless asked for")
  func selection() throws {
    let directory = try TemporaryDirectory()
    let url = URL(fileURLWithPath: directory.file("s"))
    let coordinator = try StoreCoordinator(withStoreDirectoryAt: url)
    let store = coordinator.store
    let root = try coordinator.save(inserting: [value("a", "0")])
    func head(_ key: String, _ branch: String?) throws -> Version.ID {
      try store.makeVersion(
        basedOnPredecessor: root.id, inserting: [value(key, key)],
        metadata: branch.map { [.branch: Version.MetadataValue($0)] } ?? [:]
      ).id
    }
    let plain = try head("plain", nil)
    let (one, two) = (try head("one", "one"), try head("two", "two"))
    func heads(_ selection: Store.MergeHeadSelection) -> Set<Version.ID> {
      Set(store.headsToMerge(into: root.id, headSelection: selection))
    }
    let branch = Branch(rawValue: "one")
    #expect(heads(.all) == [plain, one, two])
    #expect(heads(.allExceptBranches) == [plain])
    #expect(heads(.allUnbranchedAndSpecificBranches([branch])) == [plain, one])
    #expect(heads(.specificBranchesOnly([branch])) == [one])
    #expect(heads(.specificBranchesOnly([])) == [])
    #expect(coordinator.versionForBranchOrCurrentHead(for: branch) == one)
    #expect(
      coordinator.versionForBranchOrCurrentHead(for: Branch(rawValue: "none"))
        == coordinator.currentVersion)
    #expect(try coordinator.value(id: Value.ID("one"), on: branch)?.data == Data("one".utf8))

    #expect(try coordinator.merge())
    #expect(coordinator.currentVersion == plain)
    #expect(try text(coordinator, "one") == nil)
    #expect(try coordinator.merge(headSelection: .specificBranchesOnly([branch])))
    #expect(try text(coordinator, "one") == "one")
    #expect(try text(coordinator, "two") == nil)
    #expect(try !coordinator.merge())
    #expect(try coordinator.merge(headSelection: .all))
    #expect(try text(coordinator, "two") == "two")
    #expect(store.hasMultipleHeads == false)
    // On a branch the unnamed heads come in, as there.
    try coordinator.save(updating: [value("a", "1")], in: Branch(rawValue: "side"))
    try store.makeVersion(
      basedOnPredecessor: root.id, inserting: [value("late", "late")])
    #expect(try coordinator.merge())
    #expect(try text(coordinator, "late") == "late")
    #expect(try text(coordinator, "a") == "1")
  }

  private struct Joining: MergeArbiter {
    func changes(toResolve merge: Merge, in store: Store) throws -> [Value.Change] {
      try merge.forksByValueIdentifier.filter(\.value.isConflicting).keys.map { id in
        let first = try store.value(id: id, at: merge.versions.first.id)
        let second = try store.value(id: id, at: merge.versions.second.id)
        return .update(Value(id: id, data: (first?.data ?? Data()) + (second?.data ?? Data())))
      }
    }
  }

  @Test("an arbiter of the program's own and metadata go into the merges of a coordinator")
  func arbiter() throws {
    let directory = try TemporaryDirectory()
    let url = URL(fileURLWithPath: directory.file("s"))
    let coordinator = try StoreCoordinator(withStoreDirectoryAt: url)
    let root = try coordinator.save(inserting: [value("a", "0")])
    try coordinator.save(updating: [value("a", "1")])
    let other = try coordinator.store.makeVersion(
      basedOnPredecessor: root.id, updating: [value("a", "2")])
    coordinator.mergeArbiter = Joining()
    coordinator.defaultMetadataForNewVersions = [
      Version.MetadataKey("by"): Version.MetadataValue("test")
    ]
    #expect(try coordinator.merge())
    #expect(try text(coordinator, "a") == "12")
    let merged = try #require(
      try coordinator.store.version(identifiedBy: coordinator.currentVersion))
    #expect(merged.predecessors?.idOfSecond == other.id)
    #expect(merged.metadata[Version.MetadataKey("by")]?.value() == "test")
    // Nothing to save makes no version.
    #expect(try coordinator.save([]).id == merged.id)
    #expect(try coordinator.save([], metadata: [:]).id != merged.id)
  }

  @Test(
    "a device that joins has one head once it has merged, by an exchange and by a snapshot",
    arguments: [false, true])
  func joining(_ hasSnapshot: Bool) async throws {
    let directory = try TemporaryDirectory(inMemory: true)
    func coordinator(_ name: String) throws -> StoreCoordinator {
      let made = try StoreCoordinator(
        withStoreDirectoryAt: URL(fileURLWithPath: directory.file(name)),
        snapshotPolicy: hasSnapshot ? .auto : .disabled)
      made.exchange = FileSystemExchange(
        rootDirectoryURL: URL(fileURLWithPath: directory.file("cloud")), store: made.store)
      return made
    }
    let first = try coordinator("first")
    try first.save(inserting: [value("a", "1")])
    try await first.exchange()
    let joined = try coordinator("joined")
    if hasSnapshot {
      #expect(try await joined.bootstrapFromSnapshot())
    } else {
      try await joined.exchange()
      #expect(joined.store.hasMultipleHeads)
    }
    while joined.store.hasMultipleHeads { try joined.merge() }
    #expect(joined.currentVersion == first.currentVersion)
    #expect(joined.store.headsToMerge(into: joined.currentVersion) == [])
    #expect(joined.store.queryHistory { $0.headIdentifiers } == [first.currentVersion])
    try await joined.exchange()
    try await first.exchange()
    #expect(try !first.store.hasMultipleHeads && !first.merge())
    // The same from the files, in another object.
    let again = try coordinator("joined")
    #expect(!again.store.hasMultipleHeads && again.currentVersion == first.currentVersion)
  }
}
