import Foundation
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct StoreValuesTests {
  let directory: TemporaryDirectory
  let store: Store

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(path: directory.file("s"), create: true)
  }

  func value(_ key: String, _ text: String) -> Value {
    Value(id: Value.ID(key), data: Array(text.utf8))
  }

  func text(_ key: String, _ version: Version) throws -> String? {
    try store.value(idString: key, at: version.id).map { String(decoding: $0.data, as: UTF8.self) }
  }

  @Test("each version keeps what it held while later ones insert, update and remove")
  func editing() throws {
    let first = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [value("a", "1"), value("b/c", "2"), value("", "3")])
    let second = try store.makeVersion(
      basedOnPredecessor: first.id, inserting: [value("d", String(repeating: "x", count: 70_000))],
      updating: [value("a", "4")], removing: [Value.ID("b/c")])
    #expect(try text("a", first) == "1")
    #expect(try text("", first) == "3")
    #expect(try text("a", second) == "4")
    #expect(try text("b/c", second) == nil)
    #expect(try text("d", second)?.utf8.count == 70_000)
    #expect(try store.valueReference(id: Value.ID(""), at: second.id)?.storedVersionId == first.id)
    #expect(try store.valueReferences(at: second.id).map(\.valueId.rawValue) == ["", "a", "d"])
    #expect(try store.value(id: Value.ID("a"), storedAt: first.id)?.data == Array("1".utf8))
    #expect(try store.value(id: Value.ID(""), storedAt: second.id) == nil)
    #expect(second.timestamp > first.timestamp)
    #expect(try store.versionIds(for: Value.ID("a")) == [first.id, second.id])
    #expect(try store.versionIds(for: Value.ID("b/c")) == [first.id])
    let head = try store.mostRecentHead
    #expect(head?.id == second.id)
    let digest: String? = try store.version(identifiedBy: second.id)?.metadata[.digest]?.value()
    #expect(digest?.utf8.count == 64)
  }

  @Test("values of versions that are asked in turn are each its own")
  func inTurn() throws {
    var versions: [Version] = []
    for number in 0..<3 {
      versions.append(
        try store.makeVersion(
          basedOnPredecessor: versions.last?.id,
          inserting: [value("a", "\(number)"), value("b\(number)", "b")]))
    }
    for round in 0..<9 {
      let (number, version) = (round % 3, versions[round % 3])
      #expect(try text("a", version) == "\(number)")
      #expect(try text("b\(number)", version) == "b")
      #expect(try text("b\(number + 1)", version) == nil)
      #expect(throws: StoreError.self) {
        try store.value(idString: "a", at: Version.ID("none"))
      }
    }
    let changes = try store.valueChanges(madeBetween: versions[0].id, and: versions[2].id)
    #expect(changes.map(\.key.rawValue) == ["a", "b1", "b2"])
    guard case .update(let updated) = try #require(changes.first) else {
      Issue.record("\(changes)")
      return
    }
    #expect(Array(updated.data) == Array("2".utf8))
    #expect(updated.storedVersionId == versions[2].id)
  }

  @Test("a version's changes rebuild it elsewhere, whatever was declared")
  func changes() throws {
    let first = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [value("a", "1"), value("b", "2")])
    let second = try store.makeVersion(
      basedOnPredecessor: first.id,
      storing: [
        .insert(value("a", "5")), .update(value("new", "6")), .remove(Value.ID("b")),
        .remove(Value.ID("absent")), .insert(value("x", "1")), .remove(Value.ID("x")),
      ])
    let changes = try store.valueChanges(madeInVersionIdentifiedBy: second.id)
    #expect(
      changes.map(\.key.rawValue) == ["a", "b", "new"])
    guard case .update = changes[0], case .remove = changes[1], case .insert(let new) = changes[2]
    else {
      Issue.record("\(changes)")
      return
    }
    #expect(new.data == Array("6".utf8))
    #expect(new.storedVersionId == second.id)
    let back = try store.valueChanges(madeBetween: second.id, and: first.id)
    let third = try store.makeVersion(basedOnPredecessor: second.id, storing: back)
    #expect(try text("a", third) == "1")
    #expect(try text("b", third) == "2")
    #expect(try text("new", third) == nil)
    let digests = try [first, third].map { try store.version($0.id)?.map.digest }
    #expect(digests[0] == digests[1])
  }

  @Test("a merge takes what it preserves from the second predecessor and records its list")
  func merging() throws {
    let root = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [value("a", "0"), value("b", "0"), value("c", "0")])
    let one = try store.makeVersion(basedOnPredecessor: root.id, updating: [value("a", "1")])
    let two = try store.makeVersion(
      basedOnPredecessor: root.id, updating: [value("b", "2")], removing: [Value.ID("c")])
    #expect(try store.headNumbers().count == 2)
    let merge = try store.makeVersion(
      basedOn: Version.Predecessors(idOfFirst: one.id, idOfSecond: two.id),
      storing: [
        .preserve(Value.Reference(valueId: Value.ID("b"), storedVersionId: two.id)),
        .preserveRemoval(Value.ID("c")), .update(value("d", "extra")),
      ])
    #expect(try text("a", merge) == "1")
    #expect(try text("b", merge) == "2")
    #expect(try text("c", merge) == nil)
    #expect(try store.valueReference(id: Value.ID("b"), at: merge.id)?.storedVersionId == two.id)
    let changes = try store.valueChanges(madeInVersionIdentifiedBy: merge.id)
    #expect(changes.map(\.key.rawValue) == ["b", "c", "d"])
    let numbers = try [one, two].map { try #require(try store.version($0.id)).number }
    #expect(try store.graph.commonAncestors(numbers[0], numbers[1]).map(\.id) == [root.id])
    #expect(try store.graph.heads().map(\.id) == [merge.id])
    let all = try store.allVersionIDs
    #expect(all.first == merge.id && all.count == 4)
    #expect(throws: StoreError.self) {
      try store.makeVersion(
        basedOnPredecessor: root.id,
        storing: [
          .preserve(Value.Reference(valueId: Value.ID("b"), storedVersionId: two.id))
        ])
    }
  }

  @Test("who changed a key is known again after the index is lost")
  func indexLost() throws {
    let path = directory.file("t")
    var ids: [Version.ID] = []
    do {
      let store = try Store.open(path: path, create: true)
      for index in 0..<5 {
        ids.append(
          try store.makeVersion(
            basedOnPredecessor: ids.last, inserting: [value("k", "\(index)"), value("l", "0")]
          ).id)
      }
    }
    try FileSystem.unlink("\(path)/index.sqlite")
    let store = try Store.open(path: path, create: true)
    #expect(try store.versionIds(for: Value.ID("k")) == ids)
  }
}
