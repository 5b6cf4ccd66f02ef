import Platform
import SQLite
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Look-ups that pass over forgotten versions (`Store+Kept`), and what decided that they are.
@Suite(.timeLimit(.minutes(1)))
struct KeptTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test("a version says when and by which policy it was forgotten, also after a damaged row")
  func decision() throws {
    let path = directory.file("s")
    let key = Value.ID("k")
    var numbers: [VersionNumber] = []
    let (first, second) = (ForgetTests.later(), ForgetTests.later() + 3_600_000_000_000)
    do {
      let store = try Store.open(path: path, create: true)
      func add(_ count: Int) throws {
        for _ in 0..<count {
          let before = try store.version(numbers.last)?.id
          let version = try store.makeVersion(
            basedOnPredecessor: before,
            storing: [.insert(Value(id: key, data: Array("\(numbers.count)".utf8)))])
          numbers.append(try #require(try store.version(version.id)).number)
        }
      }
      try add(3)
      try store.forget(try KeepPolicy("daily:1y all:1d"), at: first)
      try add(2)
      try store.forget(try KeepPolicy("all:90s"), at: second)
      try store.forget(try KeepPolicy("all:1s"), at: second + 1)
    }
    for damaged in [[], ["decision 2"], ["decision 2", "decision 2~"]] {
      do {
        let catalog = try StoreDatabase(path: "\(path)/store.sqlite", mode: .readWrite)
        for name in damaged {
          try catalog.prepared("UPDATE properties SET value = x'4405' WHERE name = ?").bind(1, name)
            .run()
        }
      }
      let store = try Store.open(path: path)
      let one = ForgettingDecision(time: first, policy: "all:1d,daily:1y")
      let other = ForgettingDecision(time: second, policy: "all:90s")
      let decisions = try numbers.map { try store.decision(forgetting: $0) }
      #expect(
        decisions == [one, one, damaged.count == 2 ? nil : other].flatMap { [$0] }
          + [damaged.count == 2 ? nil : other, nil])
      #expect(try store.forgottenVersions().count == 4)
    }
  }

  @Test("a change of a forgotten version is listed as long as a kept version shows it")
  func changing() throws {
    let store = try Store.open(path: directory.file("s"), create: true)
    let (a, b) = (Value.ID("a"), Value.ID("b"))
    func make(_ base: Version.ID?, _ changes: [Value.Change]) throws -> Version.ID {
      try store.makeVersion(basedOnPredecessor: base, storing: changes).id
    }
    func value(_ id: Value.ID, _ text: String) -> Value.Change {
      .insert(Value(id: id, data: Array(text.utf8)))
    }
    let first = try make(nil, [value(a, "1"), value(b, "1")])
    let second = try make(first, [value(b, "2")])
    let third = try make(second, [value(b, "3")])
    let other = try make(third, [.remove(b)])
    let last = try make(other, [value(Value.ID("c"), "x")])
    try store.forget(try ForgetTests.least(), at: ForgetTests.later())
    #expect(try store.keptVersionsNewestFirst(before: nil, limit: 9).map(\.id) == [last])
    #expect(try store.keptVersions(changing: Key(a.rawValue)).map(\.id) == [first])
    #expect(try store.keptVersions(changing: Key(b.rawValue)).map(\.id) == [other])
    #expect(try store.versions(changing: Key(b.rawValue)).count == 4)
  }
}
