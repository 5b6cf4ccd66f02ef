import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

@Suite("The writer of a version", .timeLimit(.minutes(1)))
struct WriterLineTests {
  private let directory: TemporaryDirectory
  private let store: Store

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(path: directory.file("s"), create: true)
  }

  private func make(
    _ text: String, on predecessor: Version.ID?, _ store: Store? = nil
  ) throws -> Version.ID {
    try (store ?? self.store).makeVersion(
      basedOnPredecessor: predecessor, storing: [.insert(Value(id: Value.ID(text), data: [1]))]
    ).id
  }

  private func writer(of id: Version.ID, _ store: Store? = nil) throws -> String? {
    try (store ?? self.store).version(identifiedBy: id)?.metadata[.writer]?.value()
  }

  private func number(of id: Version.ID, _ store: Store? = nil) throws -> Int {
    let writer = try #require(try writer(of: id, store))
    return try #require(writer.split(separator: ".").last.flatMap { Int($0) })
  }

  @Test("is the replica and a number, the same for versions that follow each other")
  func line() throws {
    let first = try make("a", on: nil)
    let second = try make("b", on: first)
    let third = try make("c", on: second)
    let name = try #require(try writer(of: first))
    #expect(name.hasPrefix("\(store.replicaID)."))
    #expect(try writer(of: second) == name && writer(of: third) == name)
  }

  @Test("has a greater number where a version does not descend from the last one, and keeps it")
  func parting() throws {
    let first = try make("a", on: nil)
    let second = try make("b", on: first)
    let side = try make("c", on: first)
    let onSide = try make("d", on: side)
    let back = try make("e", on: second)
    #expect(try number(of: second) == number(of: first))
    #expect(try number(of: side) > number(of: second))
    #expect(try number(of: onSide) == number(of: side))
    #expect(try number(of: back) > number(of: side))
  }

  @Test("is none for automatic merges, which have the same id everywhere; what follows goes on")
  func merges() throws {
    let first = try make("a", on: nil)
    let one = try make("b", on: first)
    let other = try make("c", on: first)
    try store.write { (transaction) throws(StoreError) in
      _ = try transaction.mergeHeads(ofLine: nil, live: nil)
    }
    let merge = try #require(try store.mostRecentHead).id
    #expect(merge != one && merge != other)
    #expect(try writer(of: merge) == nil)
    let next = try make("d", on: merge)
    #expect(try number(of: next) == number(of: other))
  }

  @Test("is there on merges that somebody makes")
  func authoredMerge() throws {
    let first = try make("a", on: nil)
    let one = try make("b", on: first)
    let other = try make("c", on: first)
    let merge = try store.makeVersion(
      basedOn: Version.Predecessors(idOfFirst: one, idOfSecond: other), storing: [])
    #expect(try number(of: merge.id) == number(of: other))
  }

  @Test("goes on after the store is opened anew, and is another in a copy of the store")
  func reopened() throws {
    let path = directory.file("t")
    var last: Version.ID
    do {
      let store = try Store.open(path: path, create: true)
      last = try make("b", on: try make("a", on: nil, store), store)
    }
    do {
      let store = try Store.open(path: path)
      let next = try make("c", on: last, store)
      #expect(try writer(of: next, store) == writer(of: last, store))
      last = next
    }
    let copy = directory.file("copy")
    #expect(try shell("cp -a '\(path)' '\(copy)'").status == 0)
    let store = try Store.open(path: copy)
    let next = try make("d", on: last, store)
    #expect(try writer(of: next, store) != writer(of: last, store))
    #expect(try writer(of: next, store)?.hasPrefix("\(store.replicaID).") == true)
  }

  @Test("is the store's own: what a program says of it does not count")
  func given() throws {
    let version = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: Value.ID("a"), data: [1])],
      metadata: [.writer: Version.MetadataValue("somebody.1")])
    #expect(try writer(of: version.id)?.hasPrefix(store.replicaID) == true)
  }

  @Test("several versions of one transaction are one line")
  func oneTransaction() throws {
    let ids = try store.write { (transaction) throws(StoreError) in
      var ids: [Version.ID] = []
      for text in ["a", "b", "c"] {
        let predecessors = ids.last.map { Version.Predecessors(idOfFirst: $0) }
        ids.append(
          try transaction.makeVersion(
            basedOn: predecessors, storing: [.insert(Value(id: Value.ID(text), data: [1]))]
          ).id)
      }
      return ids
    }
    #expect(Set(try ids.map { try writer(of: $0) }).count == 1)
  }
}
