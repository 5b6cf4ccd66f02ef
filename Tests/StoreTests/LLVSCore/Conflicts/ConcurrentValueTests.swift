import LLVSCore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ConcurrentValueTests {
  private func value(_ key: String, _ text: String) -> Value {
    Value(id: Value.ID(key), data: Array(text.utf8))
  }

  private func texts(_ values: [ConcurrentValue]) -> [String?] {
    values.map { $0.value.map { String(decoding: $0.data, as: UTF8.self) } }
  }

  @Test(
    "all concurrent values can be read and resolved, until somebody who saw them writes or settles")
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
    #expect(try store.conflictingIds(at: head) == [a, b])
    let values = try store.concurrentValues(id: a, at: head)
    #expect(texts(values) == ["3", "2", "1"])
    #expect(values.resolved(with: .lastWriterWins)?.data == Array("3".utf8))
    #expect(try texts(store.concurrentValues(id: b, at: head)) == ["3", "2", nil])
    #expect(try texts(store.concurrentValues(id: c, at: head)) == ["0"])
    #expect(try store.concurrentValues(id: Value.ID("none"), at: head) == [])
    #expect([ConcurrentValue]().resolved(with: .lastWriterWins) == nil)
    let settled = try store.makeVersion(settling: [b], basedOnPredecessor: head)
    #expect(try store.conflictingIds(at: settled.id) == [a])
    #expect(try texts(store.concurrentValues(id: b, at: settled.id)) == ["3"])
    let written = try store.makeVersion(
      basedOnPredecessor: settled.id, updating: [value("a", "all")])
    #expect(try store.conflictingIds(at: written.id) == [])
    #expect(try texts(store.concurrentValues(id: a, at: written.id)) == ["all"])
    // What was there stays there in the versions before.
    #expect(try store.conflictingIds(at: head) == [a, b])
    #expect(throws: StoreError.self) { try store.conflictingIds(at: Version.ID("none")) }
  }
}
