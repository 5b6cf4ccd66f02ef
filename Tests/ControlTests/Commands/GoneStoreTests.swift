import Events
import LLVSCore
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import Control
@testable import Grammar
@testable import TreeSupport

/// A store that is removed, moved or replaced while it is open: what is open of it goes on answering.
@Suite("A store that is gone", .timeLimit(.minutes(1)))
struct GoneStoreTests {
  static let losses = ["the directory", "the catalog", "the segments"]

  @Test(
    "what is moved away is missed by status, the next commit and the log, and not once it is back",
    arguments: losses)
  func moved(_ loss: String) throws {
    let work = try ControlWorkspace()
    try work.write("f", "x")
    try work.run("commit")
    #expect(!(try work.service.status().text.contains("any more")))
    let place = Self.place(loss, of: work.store.path)
    let away = work.directory.file("away")
    try FileSystem.rename(place, to: away)
    // Nothing is pending, and it is said all the same.
    #expect(try work.failure("commit") == .notFound)
    let status = try work.service.status()
    #expect(status.text.contains("\(place) was removed, moved or replaced"), "\(status.text)")
    #expect(
      status.reply.json.contains("\"storeFault\":\"there is no store in "), "\(status.reply.json)")
    #expect(try work.failure("set settle=3s") == .notFound)
    try work.write("g", "y")
    #expect(try work.failure("commit") == .notFound)
    let lines = work.service.log.lastLines(20)
    #expect(lines.contains { $0.contains("error there is no store in ") }, "\(lines)")
    try FileSystem.rename(away, to: place)
    try work.run("commit")
    #expect(try work.service.status().reply.json.contains("\"storeFault\":null"))
  }

  @Test("another store in its place is not taken for it")
  func replaced() throws {
    let work = try ControlWorkspace()
    try work.write("f", "x")
    try work.run("commit")
    let path = work.store.path
    try FileSystem.rename(path, to: work.directory.file("away"))
    try copyTree(work.directory.file("away"), to: path)
    #expect(try work.failure("commit") == .notFound)
  }

  private static func place(_ loss: String, of path: String) -> String {
    switch loss {
    case "the catalog": path + "/store.sqlite"
    case "the segments": path + "/segments"
    default: path
    }
  }
}
