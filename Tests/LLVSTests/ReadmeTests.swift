// Written as the original's README is, which unwraps and tries by force.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseForceTry

import Foundation
import LLVS
import TestSupport
import Testing

/// The programs of the original's README, section by section; only what Linux lacks is replaced.
@Suite("The original's README", .timeLimit(.minutes(1)))
struct ReadmeTests {
  private let directory: TemporaryDirectory
  private let rootDir: URL

  init() throws {
    directory = try TemporaryDirectory()
    rootDir = URL(fileURLWithPath: directory.file("app/group/MyStore"))
  }

  /// The program of "Quick Start", on a folder instead of iCloud.
  private final class Messenger: Sendable {
    let storeCoordinator: StoreCoordinator
    let messageId = Value.ID("MESSAGE")

    init(store: URL, cloud: URL) throws {
      storeCoordinator = try StoreCoordinator(
        withStoreDirectoryAt: store, cacheDirectoryAt: store)
      let exchange = FileSystemExchange(rootDirectoryURL: cloud, store: storeCoordinator.store)
      storeCoordinator.exchange = exchange
    }

    func post(message: String) {
      let value = Value(id: messageId, data: message.data(using: .utf8)!)
      try! storeCoordinator.save(updating: [value])
    }

    func fetchMessage() -> String? {
      guard let value = try? storeCoordinator.value(id: messageId) else { return nil }
      return String(data: value.data, encoding: .utf8)
    }

    func sync(then done: @escaping @Sendable () -> Void) {
      storeCoordinator.exchange { _ in
        _ = try? self.storeCoordinator.merge()
        done()
      }
    }
  }

  @Test("Quick Start: a message posted on one device is fetched on another")
  func quickStart() async throws {
    let cloud = URL(fileURLWithPath: directory.file("cloud"))
    let phone = try Messenger(store: URL(fileURLWithPath: directory.file("phone")), cloud: cloud)
    let tablet = try Messenger(store: URL(fileURLWithPath: directory.file("tablet")), cloud: cloud)
    phone.post(message: "Hello")
    for device in [phone, tablet] {
      await withCheckedContinuation { continuation in device.sync { continuation.resume() } }
    }
    #expect(tablet.fetchMessage() == "Hello")
  }

  @Test("Creating a Store, Inserting, Updating and Removing Values, Fetching Data")
  func values() throws {
    let store = try Store(rootDirectoryURL: rootDir)
    let value = Value(idString: "ABCDEF", data: "Hello".data(using: .utf8)!)
    let firstVersion = try store.makeVersion(basedOnPredecessor: nil, inserting: [value])

    let updated = Value(idString: "ABCDEF", data: "World".data(using: .utf8)!)
    let secondVersion = try store.makeVersion(
      basedOnPredecessor: firstVersion.id,
      updating: [updated]
    )

    let newValue = Value(idString: "new", data: Data())
    let changedValue = Value(idString: "ABCDEF", data: Data([1, 2]))
    let obsoleteValueId = Value.ID("obsolete")
    let thirdVersion = try store.makeVersion(
      basedOnPredecessor: secondVersion.id,
      inserting: [newValue],
      updating: [changedValue],
      removing: [obsoleteValueId]
    )

    let fetched = try store.value(idString: "ABCDEF", at: secondVersion.id)!
    let text = String(data: fetched.data, encoding: .utf8)
    #expect(text == "World")
    #expect(try store.value(idString: "new", at: secondVersion.id) == nil)
    #expect(try store.value(idString: "new", at: thirdVersion.id)?.data == Data())
  }

  @Test("Predecessors, Successors, and Heads; Navigating History")
  func history() throws {
    let store = try Store(rootDirectoryURL: rootDir)
    let first = try store.makeVersion(basedOnPredecessor: nil, storing: [])
    let second = try store.makeVersion(basedOnPredecessor: first.id, storing: [])
    var heads: Set<Version.ID> = []
    store.queryHistory { history in
      heads = history.headIdentifiers
    }
    #expect(heads == [second.id])
    let latest: Version? = store.mostRecentHead
    #expect(latest?.id == second.id && latest?.predecessors?.ids == [first.id])
    #expect(try store.version(identifiedBy: first.id)?.successors.ids == [second.id])
  }

  private class JoiningArbiter: MergeArbiter {
    func changes(toResolve merge: Merge, in store: Store) throws -> [Value.Change] {
      var rest = merge
      var changes: [Value.Change] = []
      for (id, fork) in merge.forksByValueIdentifier where fork == .twiceUpdated {
        let one = try store.value(id: id, at: merge.versions.first.id)!
        let other = try store.value(id: id, at: merge.versions.second.id)!
        changes.append(.update(Value(id: id, data: one.data + other.data)))
        rest.forksByValueIdentifier[id] = nil
      }
      // What is left goes to a built-in arbiter.
      return changes
        + (try MostRecentChangeFavoringArbiter().changes(toResolve: rest, in: store))
    }
  }

  @Test("Branching and Merging, Built-in and Custom Arbiters")
  func merging() throws {
    let store = try Store(rootDirectoryURL: rootDir)
    func value(_ id: String, _ text: String) -> Value {
      Value(idString: id, data: text.data(using: .utf8)!)
    }
    let base = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [value("a", "0"), value("b", "0")]
    ).id
    let headA = try store.makeVersion(
      basedOnPredecessor: base, updating: [value("a", "1")], removing: [Value.ID("b")]
    ).id
    let headB = try store.makeVersion(
      basedOnPredecessor: base, updating: [value("a", "2"), value("b", "2")]
    ).id
    let arbiter = MostRecentChangeFavoringArbiter()
    let merged = try store.merge(version: headA, with: headB, resolvingWith: arbiter)
    #expect(try store.value(idString: "a", at: merged.id)?.data == Data("2".utf8))
    let other = try store.merge(
      version: headA, with: headB, resolvingWith: MostRecentBranchFavoringArbiter())
    #expect(try store.value(idString: "b", at: other.id)?.data == Data("2".utf8))
    let joined = try store.merge(version: headA, with: headB, resolvingWith: JoiningArbiter())
    #expect(try store.value(idString: "a", at: joined.id)?.data == Data("12".utf8))
    #expect(try store.value(idString: "b", at: joined.id)?.data == Data("2".utf8))
    // One is an ancestor of the other.
    #expect(try store.merge(version: base, with: headA, resolvingWith: arbiter).id == headA)
  }

  private final class NoArbiter: MergeArbiter {
    func changes(toResolve merge: Merge, in store: Store) throws -> [Value.Change] { [] }
  }

  @Test("an arbiter that leaves a conflict undecided ends the merge with the error of the original")
  func unresolved() throws {
    let store = try Store(rootDirectoryURL: rootDir)
    let base = try store.makeVersion(basedOnPredecessor: nil, storing: []).id
    let versions = try ["1", "2"].map { text in
      try store.makeVersion(
        basedOnPredecessor: base, inserting: [Value(idString: "a", data: Data(text.utf8))]
      ).id
    }
    do {
      try store.merge(version: versions[0], with: versions[1], resolvingWith: NoArbiter())
      Issue.record("the merge was made")
    } catch Store.Error.unresolvedConflict(let valueId, let valueFork) {
      #expect(valueId == Value.ID("a") && valueFork == .twiceInserted)
    }
    #expect(throws: Store.Error.missingVersion) {
      try store.value(id: Value.ID("a"), at: Version.ID())
    }
    #expect(try store.value(id: Value.ID("a"), storedAt: Version.ID()) == nil)
  }

  @Test("Setting Up an Exchange: several exchanges, with and without waiting")
  func exchanges() async throws {
    let store = try Store(rootDirectoryURL: rootDir)
    let version = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(idString: "a", data: Data([1]))])
    let sharedDirectoryURL = URL(fileURLWithPath: directory.file("shared"))
    let exchange = FileSystemExchange(
      rootDirectoryURL: sharedDirectoryURL, store: store
    )
    let sent = await withCheckedContinuation { continuation in
      exchange.send { result in continuation.resume(returning: result.value) }
    }
    #expect(sent == [version.id])
    let other = try Store(rootDirectoryURL: URL(fileURLWithPath: directory.file("other")))
    let back = FileSystemExchange(rootDirectoryURL: sharedDirectoryURL, store: other)
    let retrieved = await withCheckedContinuation { continuation in
      back.retrieve { result in continuation.resume(returning: result.value) }
    }
    #expect(retrieved == [version.id])
    #expect(other.mostRecentHead?.id == version.id)
  }

  @Test("Features: compare two versions, and go back to one")
  func features() throws {
    let store = try Store(rootDirectoryURL: rootDir)
    let first = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(idString: "a", data: Data([1]))])
    let second = try store.makeVersion(
      basedOnPredecessor: first.id, removing: [Value.ID("a")])
    let changes = try store.valueChanges(madeBetween: second.id, and: first.id)
    #expect(changes.valueIds == [Value.ID("a")])
    let third = try store.makeVersion(basedOnPredecessor: second.id, storing: changes)
    #expect(try store.value(idString: "a", at: third.id)?.data == Data([1]))
    #expect(
      try store.valueChanges(updatingFrom: second.id, to: first.id) == changes)
  }
}
