import Foundation
import LLVS
import LLVSModel
import TestSupport
import Testing

/// Swift types as values.
@Suite("Models", .timeLimit(.minutes(1)))
struct ModelTests {
  private struct Note: StorableModel, Equatable {
    static let modelTypeIdentifier = "Note"
    var text: String
  }

  @Test("instances are saved, fetched and removed, also those that older programs saved")
  func instances() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let coordinator = try StoreCoordinator(
      withStoreDirectoryAt: URL(fileURLWithPath: directory.file("s")))
    try coordinator.save(Note(text: "1"), instanceIdentifier: "a")
    try coordinator.save(Note(text: "2"), instanceIdentifier: "a")
    try coordinator.save([
      .insert(Value(idString: "Note/old", data: Data("{\"text\":\"o\"}".utf8))),
      .insert(Value(idString: "other", data: Data([1]))),
    ])
    #expect(
      try coordinator.fetchModel(Note.self, instanceIdentifier: "a") == Note(text: "2"))
    #expect(
      try coordinator.fetchModel(Note.self, instanceIdentifier: "old") == Note(text: "o"))
    #expect(try coordinator.fetchModel(Note.self, instanceIdentifier: "none") == nil)
    #expect(try coordinator.fetchAllModels(Note.self) == [Note(text: "o"), Note(text: "2")])
    // A model with the older key keeps it.
    try coordinator.save(Note(text: "p"), instanceIdentifier: "old")
    #expect(try coordinator.fetchAllModels(Note.self).count == 2)
    #expect(try coordinator.value(idString: "a/Note") != nil)
    let branch = Branch(rawValue: "side")
    try coordinator.save(Note(text: "s"), instanceIdentifier: "b", in: branch)
    #expect(
      try coordinator.fetchModel(Note.self, instanceIdentifier: "b", on: branch)?.text == "s")
    for instance in ["a", "old", "none"] {
      try coordinator.removeModel(Note.self, instanceIdentifier: instance)
    }
    #expect(try coordinator.fetchAllModels(Note.self) == [Note(text: "s")])
  }
}
