import FileTree
import LLVS
import Platform
import TestSupport
import Testing

@Suite("Versions by themselves", .timeLimit(.minutes(2)))
struct AutosaverTests {
  private func waitForHead(_ space: ControlWorkspace, _ seconds: Int) throws -> String? {
    for _ in 0..<(seconds * 20) {
      if let head = try space.head { return head }
      SystemClock.sleep(nanoseconds: 50_000_000)
    }
    return nil
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
    var isSent = false
    for _ in 0..<200 where !isSent {
      isSent = try FileSystem.exists("\(folder)/versions")
      SystemClock.sleep(nanoseconds: 50_000_000)
    }
    #expect(isSent)
    sync.stop()
  }
}
