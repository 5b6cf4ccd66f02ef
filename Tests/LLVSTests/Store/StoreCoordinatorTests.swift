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
      Value(id: Value.ID(key), data: Array(text.utf8))
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
      try coordinator.store.heads(withBranch: Branch(rawValue: "side")).map(\.id) == [side.id])
    #expect(try coordinator.value(idString: "c")?.data == Array("3".utf8))
  }
}
