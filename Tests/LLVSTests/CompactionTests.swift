import Foundation
import LLVS
import LLVSSQLite
import TestSupport
import Testing

/// `compact` of a store and of a coordinator.
@Suite(.timeLimit(.minutes(1)))
struct CompactionTests {
  let directory: TemporaryDirectory
  private var url: URL { URL(fileURLWithPath: directory.file("s")) }

  init() throws { directory = try TemporaryDirectory() }

  private func value(_ index: Int) -> Value {
    var random = SeededRandom(seed: UInt64(index))
    return Value(id: Value.ID("k"), data: Data(random.bytes(50_000)))
  }

  private func chain(_ store: Store, _ range: Range<Int>, on first: Version.ID? = nil) throws
    -> [Version.ID]
  {
    var ids: [Version.ID] = []
    for index in range {
      ids.append(
        try store.makeVersion(
          basedOnPredecessor: ids.last ?? first, storing: [.insert(value(index))]
        ).id)
    }
    return ids
  }

  /// True if reading throws the error of forgotten bytes.
  private func isForgotten(_ id: Version.ID, in store: Store) throws -> Bool {
    do {
      _ = try store.value(idString: "k", at: id)
      return false
    } catch Store.Error.forgotten {
      return true
    }
  }

  @Test("versions before a date are forgotten, apart from the newest ones, and stay in history")
  func chain() throws {
    let ids: [Version.ID]
    do {
      let store = try Store(rootDirectoryURL: url)
      ids = try chain(store, 0..<8)
      #expect(try store.compact() == nil)
      #expect(try store.compact(beforeDate: .distantPast, minRetainedVersions: 0) == nil)
      #expect(try store.compact(beforeDate: Date(), minRetainedVersions: 8) == nil)
      #expect(store.compressedVersionIdentifiers.isEmpty)
      #expect(try store.compact(beforeDate: Date(), minRetainedVersions: 3) == ids[5])
      #expect(try store.compact(beforeDate: Date(), minRetainedVersions: 3) == nil)
    }
    let store = try Store(rootDirectoryURL: url)
    #expect(store.compressedVersionIdentifiers == Set(ids[..<5]))
    for (index, id) in ids.enumerated() {
      #expect(store.isCompressedVersion(id) == (index < 5))
      #expect(try isForgotten(id, in: store) == (index < 5))
      #expect(try store.valueReference(id: Value.ID("k"), at: id)?.storedVersionId == id)
      #expect(try store.version(identifiedBy: id)?.id == id)
    }
    #expect(store.queryHistory { $0.allVersionIdentifiers.count } == 8)
  }

  @Test("heads, the base of their merge and the current version keep their bytes")
  func needed() throws {
    let coordinator = try StoreCoordinator(withStoreDirectoryAt: url)
    let store = coordinator.store
    for index in 0..<3 { try coordinator.save(inserting: [value(index)]) }
    let base = coordinator.currentVersion
    let heads = try [3, 4].map { try chain(store, $0..<($0 + 1), on: base)[0] }
    let later = try chain(store, 5..<8, on: heads[0])
    #expect(try coordinator.compact(beforeDate: Date(), minRetainedVersions: 0) != nil)
    for id in [base, heads[1], later[2]] { #expect(try !isForgotten(id, in: store)) }
    for id in later[..<2] { #expect(store.isCompressedVersion(id)) }
    #expect(try coordinator.merge())
    #expect(try coordinator.value(idString: "k") != nil)
  }

  @Test("a coordinator compacts as its policy says", arguments: CompactionPolicy.allCases)
  func policies(_ policy: CompactionPolicy) throws {
    let first = try StoreCoordinator(withStoreDirectoryAt: url)
    #expect(first.compactionPolicy == .manual)
    for index in 0..<3 { try first.save(inserting: [value(index)]) }
    let coordinator = try StoreCoordinator(withStoreDirectoryAt: url, compactionPolicy: policy)
    // Nothing is a week old.
    #expect(coordinator.store.compressedVersionIdentifiers.isEmpty)
    let oldest = try coordinator.compact(beforeDate: Date(), minRetainedVersions: 1)
    #expect((oldest == coordinator.currentVersion) == (policy != .none))
    #expect(coordinator.store.compressedVersionIdentifiers.isEmpty == (policy == .none))
  }

  @Test("stores in the original's formats do not compact", arguments: [true, false])
  func original(isSQLite: Bool) throws {
    let store = try Store(
      rootDirectoryURL: url, storage: isSQLite ? SQLiteStorage() : FileStorage())
    let ids = try chain(store, 0..<3)
    #expect {
      try store.compact(beforeDate: Date(), minRetainedVersions: 0)
    } throws: { error in
      if case Store.Error.unsupported? = error as? Store.Error { true } else { false }
    }
    #expect(store.compressedVersionIdentifiers.isEmpty)
    for id in ids { #expect(try !isForgotten(id, in: store)) }
  }
}
