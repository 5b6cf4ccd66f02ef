import Foundation
import LLVS
import TestSupport
import Testing

/// Several objects on one directory, in one process.
@Suite("Stores that share a directory", .timeLimit(.minutes(1)))
struct SharedStoreTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = URL(fileURLWithPath: directory.file("a/b/store"))
  }

  private func value(_ id: String, _ text: String) -> Value {
    Value(idString: id, data: Data(text.utf8))
  }

  @Test("each sees the other's versions, and their heads after reloading")
  func reloading() throws {
    let (one, two) = (try Store(rootDirectoryURL: url), try Store(rootDirectoryURL: url))
    let first = try one.makeVersion(basedOnPredecessor: nil, storing: [.insert(value("a", "1"))])
    #expect(two.mostRecentHead == nil)
    try two.reloadHistory()
    #expect(two.mostRecentHead?.id == first.id)
    #expect(try two.value(id: Value.ID("a"), storedAt: first.id)?.data == Data("1".utf8))
    let second = try two.makeVersion(basedOnPredecessor: first.id, updating: [value("a", "2")])
    #expect(two.mostRecentHead?.id == second.id)
    #expect(try one.value(id: Value.ID("a"), at: second.id)?.data == Data("2".utf8))
    try one.reloadHistory()
    #expect(one.mostRecentHead?.id == second.id && !one.hasMultipleHeads)
  }

  @Test("a store that was closed and opened again has everything")
  func reopening() throws {
    var head: Version.ID?
    for round in 0..<5 {
      let store = try Store(rootDirectoryURL: url)
      #expect(store.mostRecentHead?.id == head)
      head = try store.makeVersion(
        basedOnPredecessor: head, storing: [.insert(value("\(round)", "x"))]
      ).id
    }
    let store = try Store(rootDirectoryURL: url)
    #expect(try store.valueReferences(at: try #require(head)).count == 5)
  }

  @Test("an idle store lets others write, and writes again itself")
  func idle() async throws {
    let store = try Store(rootDirectoryURL: url)
    let first = try store.makeVersion(basedOnPredecessor: nil, storing: [])
    try await Task.sleep(for: .milliseconds(400))
    #expect(try store.version(identifiedBy: first.id) != nil)
    let second = try store.makeVersion(basedOnPredecessor: first.id, storing: [])
    #expect(store.mostRecentHead?.id == second.id)
  }

  @Test("a directory with something else in it, and a URL of no file, are refused")
  func foreign() throws {
    let file = URL(fileURLWithPath: directory.file("other/notes.txt"))
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("x".utf8).write(to: file)
    #expect(throws: Store.Error.self) {
      try Store(rootDirectoryURL: file.deletingLastPathComponent())
    }
    let remote = try #require(URL(string: "https://example.org/store"))
    #expect(throws: Store.Error.self) { try Store(rootDirectoryURL: remote) }
    #expect(throws: Store.Error.self) { try StoreCoordinator(withStoreDirectoryAt: remote) }
  }
}
