import LLVSCore
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

// Databases and their logs: docs/writes.md, rules 1 to 3.

extension SaveRulesTests {
  @Test(
    "a new log of a database is taken with the database, at one instant",
    arguments: ["x-wal", "x-journal"])
  func databaseLog(name: String) throws {
    let mount = try mounted(settle: 20_000_000)
    try mount.save("x", "old")
    let database = try mount.open("x", [.read, .write])
    let log = try mount.create(name)
    try mount.write(log, Array("log".utf8))
    passQuiet()
    #expect(try mount.cut(.quiet).unsavedPaths == [])
    #expect(try mount.head() == ["x": "old", name: "log"])
    try mount.write(database, Array("new".utf8))
    try mount.write(log, Array("LOG".utf8))
    try mount.cut(.overdue)
    #expect(try mount.head() == ["x": "new", name: "LOG"])
    try mount.close(database)
    try mount.close(log)
  }

  @Test(
    "a database that is never quiet is taken with its log by a command, and alone at 60 s, whatever cuts come",
    arguments: ["x-wal", "x-journal"])
  func busyDatabase(name: String) throws {
    let mount = try mounted()
    try mount.save("x", "old")
    try mount.cut()
    let database = try mount.open("x", [.read, .write])
    try mount.write(database, Array("new".utf8))
    try mount.cut()
    #expect(try mount.head() == ["x": "old"])
    let log = try mount.create(name)
    try mount.write(log, Array("log".utf8))
    try mount.cut()
    #expect(try mount.head() == ["x": "new", name: "log"])
    try mount.write(database, Array("NEW".utf8))
    try mount.close(log)
    try mount.unlink(name)
    try mount.cut()
    #expect(try mount.head() == ["x": "NEW"])
    try mount.write(database, Array("end".utf8))
    let first = try #require(mount.tree.nextCut())
    try mount.save("other", "saved")
    try mount.cut()
    #expect(try mount.head() == ["x": "NEW", "other": "saved"])
    let next = try #require(mount.tree.nextCut())
    #expect(next.reason == .overdue && next.tick == first.tick)
    try mount.close(database)
  }
}
