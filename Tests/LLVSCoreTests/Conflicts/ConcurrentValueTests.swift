import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct ConcurrentValueTests {
  private func value(_ key: String, _ text: String) -> Value {
    Value(id: Value.ID(key), data: Array(text.utf8))
  }

  private func open(_ store: Store, at head: Version.ID) throws -> [Key] {
    try store.openConflictKeys(at: #require(try store.version(head)).number)
  }

  /// The values of a key: first what the version holds, then what merges did not take; nil for a removal.
  private func texts(_ store: Store, _ key: Key, at head: Version.ID) throws -> [String?] {
    func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
    let number = try #require(try store.version(head)).number
    let conflict = try store.openConflicts(at: number, where: { $0 == key }).first
    let held = try store.value(id: key, at: head).map { text($0.data) }
    let dropped = try (conflict?.theirs ?? []).map { revision in
      try revision.entry.map { text(try store.contents.bytes($0.stored)) }
    }
    return held == nil && conflict == nil ? [] : [held] + dropped
  }

  @Test(
    "all concurrent values can be read, until somebody who saw them writes or settles")
  func read() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let (a, b, c) = (Value.ID("a"), Value.ID("b"), Value.ID("c"))
    let root = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [value("a", "0"), value("b", "0"), value("c", "0")])
    for text in ["1", "2", "3"] {
      try store.makeVersion(
        basedOnPredecessor: root.id,
        updating: [value("a", text)]
          + (text == "1" ? [] : [value("b", text)]), removing: text == "1" ? [b] : [])
    }
    let outcome = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: nil).outcome
    }
    let number = try #require(outcome)
    let head = try #require(try store.version(number)).id
    #expect(try open(store, at: head) == [a, b])
    #expect(try texts(store, a, at: head) == ["3", "2", "1"])
    #expect(try texts(store, b, at: head) == ["3", "2", nil])
    #expect(try texts(store, c, at: head) == ["0"])
    #expect(try texts(store, Value.ID("none"), at: head) == [])
    let settled = try store.makeVersion(
      basedOnPredecessor: head, metadata: [.settled: Version.MetadataValue(keys: [b])])
    #expect(try open(store, at: settled.id) == [a])
    #expect(try texts(store, b, at: settled.id) == ["3"])
    let written = try store.makeVersion(
      basedOnPredecessor: settled.id, updating: [value("a", "all")])
    #expect(try open(store, at: written.id) == [])
    #expect(try texts(store, a, at: written.id) == ["all"])
    // What was there stays there in the versions before.
    #expect(try open(store, at: head) == [a, b])
  }
}
