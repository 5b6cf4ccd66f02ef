import LLVS
import TestSupport
import Testing

@testable import FileTree

/// Times go with the file: moving is no writing of the same bytes (rule 4 of section 4 of the contract).
@Suite(.timeLimit(.minutes(1)))
struct MovedTimeTests {
  private func mounted(_ directory: TemporaryDirectory) throws -> MountedTree {
    var settings = StoreSettings()
    settings.settle = 3_600_000_000_000
    return try MountedTree(directory.path, settings: settings)
  }

  @Test(
    "a file moved over one with the same bytes has its own time in the version",
    arguments: [false, true])
  func moved(isSet: Bool) throws {
    let directory = try TemporaryDirectory()
    let mount = try mounted(directory)
    try mount.save("f", "text")
    try mount.save("g", "text")
    try mount.cut()
    if isSet {
      try mount.change("f") { $0.mtime = Attributes.Time(seconds: 1_000_000_000, nanoseconds: 5) }
      try mount.cut()
    }
    let time = try #require(try mount.entry("f")?.attributes.mtime)
    #expect(try mount.entry("g")?.attributes.mtime != time)
    try mount.rename("f", "g")
    try mount.cut()
    #expect(try mount.status("g").mtime == time)
    #expect(try mount.entry("g")?.attributes.mtime == time)
  }

  @Test("so have both of two that are exchanged, and one that is moved there and back")
  func exchanged() throws {
    let directory = try TemporaryDirectory()
    let mount = try mounted(directory)
    try mount.save("f", "text")
    try mount.save("g", "text")
    try mount.cut()
    let times = try ["f", "g"].map { try mount.entry($0)?.attributes.mtime }
    try mount.rename("f", "h")
    try mount.rename("g", "f")
    try mount.rename("h", "g")
    try mount.cut()
    #expect(try ["g", "f"].map { try mount.entry($0)?.attributes.mtime } == times)
    let head = try mount.cut().head?.number
    try mount.rename("f", "h")
    try mount.rename("h", "f")
    #expect(try mount.cut().head?.number == head)
  }
}
