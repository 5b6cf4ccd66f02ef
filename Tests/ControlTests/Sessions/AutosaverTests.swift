import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport
@testable import WorkingTree

@Suite("Versions by themselves", .timeLimit(.minutes(2)))
struct AutosaverTests {
  private func waitForHead(_ space: ControlWorkspace, _ seconds: Int) throws -> String? {
    _ = try eventually(seconds: Double(seconds)) { try space.head != nil }
    return try space.head
  }

  @Test("what is saved becomes a version after a quiet time")
  func quiet() throws {
    let space = try ControlWorkspace()
    try space.run("set settle=200ms")
    let saver = Autosaver(space.service)
    try saver.start()
    defer { saver.stop() }
    try space.write("a", "one")
    #expect(try waitForHead(space, 10) != nil)
  }

  @Test("below the reserve no version is made by itself, and status says so")
  func reserve() throws {
    let space = try ControlWorkspace()
    try space.run("set settle=100ms reserve=1000P")
    let saver = Autosaver(space.service)
    try saver.start()
    defer { saver.stop() }
    try space.write("a", "one")
    #expect(try waitForHead(space, 1) == nil)
    #expect(try space.service.status().text.contains("is free: no versions"))
    try space.run("commit")
    #expect(try space.head != nil)
  }

  @Test("below the reserve, what is removed gives its room back, though no version is made")
  func roomBelowReserve() throws {
    let space = try ControlWorkspace()
    try space.run("set settle=100ms reserve=1000P")
    let saver = Autosaver(space.service)
    try saver.start()
    defer { saver.stop() }
    func staged() throws -> UInt64 {
      let journal = space.directory.file("store/journal")
      return try FileSystem.list(journal).filter { $0.hasSuffix(".stage") }.reduce(0) {
        try $0 + FileSystem.status("\(journal)/\($1)").allocated
      }
    }
    let text = String(repeating: "text", count: 256 << 10)
    let handle = try space.write("a", text)
    try space.write("b", text)
    let before = try staged()
    try space.remove("a")
    space.tree.forget(handle.inode, count: 1)
    #expect(try eventually(seconds: 20) { try staged() <= before - (512 << 10) })
    #expect(try space.read("b") == text)
    #expect(try space.head == nil)
  }

  /// Lets a cut be overdue, which then waits for the saves to have had their quiet.
  private func beginOverdueCut(_ space: ControlWorkspace, settle: String) throws -> Autosaver {
    try space.run("set settle=\(settle)")
    try space.write("a", "one")
    let tree = space.tree
    tree.letPendingAge()
    let saver = Autosaver(space.service)
    try saver.start()
    #expect(eventually { tree.isMakingVersion })
    return saver
  }

  @Test("the end does not wait for the quiet that an overdue cut waits for")
  func endOfOverdueCut() throws {
    let space = try ControlWorkspace()
    let saver = try beginOverdueCut(space, settle: "60s")
    let began = SystemClock.monotonic()
    saver.stop()
    #expect(SystemClock.monotonic() - began < 20_000_000_000)
    #expect(try space.head != nil)
  }

  @Test("a shorter quiet that is set holds for an overdue cut that waits for its own already")
  func quietOfOverdueCut() throws {
    let space = try ControlWorkspace()
    let saver = try beginOverdueCut(space, settle: "1h")
    defer { saver.stop() }
    try space.run("set settle=1s author=Ada")
    #expect(try waitForHead(space, 20) != nil)
  }

  @Test("a commit while an overdue cut waits for its quiet makes the version, with its message")
  func commitBesideOverdueCut() throws {
    let space = try ControlWorkspace()
    let saver = try beginOverdueCut(space, settle: "1h")
    defer { saver.stop() }
    try space.write("b", "two")
    let reply = try space.run("commit before lunch")
    #expect(reply.text.contains("2 new: a, b"))
    let head = try space.service.version("head")
    let message: String? = try space.store.metadata(of: head)[.message]?.value()
    #expect(message == "before lunch")
    #expect(head.number.rawValue == 1)
  }

  @Test("status tells when an overdue version is made, not when it is marked")
  func dueOfOverdueCut() throws {
    let space = try ControlWorkspace()
    try space.run("set settle=1h")
    try space.write("a", "one")
    let due = try #require(space.tree.pending().due)
    #expect(due > 3_600_000_000_000 && due <= 3_660_000_000_000)
  }

  @Test("what is written while a version is made comes to the disk all the same")
  func syncsBesideCut() throws {
    let space = try ControlWorkspace()
    let saver = try beginOverdueCut(space, settle: "60s")
    defer { saver.stop() }
    try space.write("b", "two")
    let journal = space.tree.journal
    #expect(journal.hasUnsynced)
    #expect(eventually(seconds: 20) { !journal.hasUnsynced })
    #expect(space.tree.isMakingVersion)
  }

  @Test("peers are synced at the interval that is set, from when it is set")
  func autosync() throws {
    let space = try ControlWorkspace()
    let folder = space.directory.file("folder")
    try FileSystem.makeDirectory(folder)
    try space.service.setPeer("usb", address: Array(folder.utf8))
    try space.write("a", "one")
    let sync = Autosync(space.service)
    try sync.start()
    #expect(try space.head == nil)
    try space.run("set autosync=1s")
    #expect(try waitForHead(space, 20) != nil)
    #expect(try eventually { try FileSystem.exists("\(folder)/bundles") })
    sync.stop()
  }

  @Test("syncing by itself makes no version below the reserve")
  func autosyncBelowReserve() throws {
    let space = try ControlWorkspace()
    let folder = space.directory.file("folder")
    try FileSystem.makeDirectory(folder)
    try space.service.setPeer("usb", address: Array(folder.utf8))
    try space.write("a", "one")
    try space.run("commit")
    let head = try space.head
    try space.run("set reserve=1000P autosync=1s")
    try space.write("a", "two")
    let sync = Autosync(space.service)
    try sync.start()
    let isSent = try eventually(seconds: 20) { try FileSystem.exists("\(folder)/bundles") }
    sync.stop()
    #expect(isSent)
    #expect(try space.head == head)
  }

  @Test("syncing by itself merges nothing where merging by itself is off")
  func autosyncWithoutMerging() throws {
    let a = try ControlWorkspace()
    let b = try ControlWorkspace()
    let folder = a.directory.file("folder")
    try FileSystem.makeDirectory(folder)
    for space in [a, b] { try space.service.setPeer("usb", address: Array(folder.utf8)) }
    try a.write("a", "base")
    try a.run("sync")
    try b.run("sync")
    try b.write("b", "of b")
    try b.run("sync")
    try a.write("a", "of a")
    try a.run("set automerge=off autosync=1s")
    let sync = Autosync(a.service)
    try sync.start()
    let isTaken = try eventually(seconds: 20) {
      try a.service.status().text.contains("(2 heads, 1 to merge)")
    }
    sync.stop()
    #expect(isTaken)
    #expect(try a.read("b") == nil)
    try a.run("sync")
    #expect(try a.read("b") != nil)
  }
}
