import LLVSCore
import TestSupport
import Testing

@testable import Grammar
@testable import TreeSupport
@testable import WorkingTree

/// Times go with the file: moving is no writing of the same bytes (docs/writes.md, rule 4).
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

  @Test(
    "bytes without a recorded time keep the one that is shown, where they or their directory is moved",
    arguments: [false, true])
  func withoutTime(isReopened: Bool) throws {
    let directory = try TemporaryDirectory()
    let moved = ["moved", "new/g", "new/e/h"]
    let time: Attributes.Time
    do {
      let mount = try mounted(directory)
      // As plain LLVS stores values: with nothing recorded.
      let made = try mount.store.makeVersion(
        basedOnPredecessor: nil,
        inserting: ["f", "d/g", "d/e/h"].map { Value(id: Value.ID($0), data: Array("text".utf8)) })
      _ = try mount.tree.transition(.command) { (transaction, _) throws(StoreError) in
        try transaction.version(made.id)?.number
      }
      time = try mount.status("f").mtime
      #expect(try mount.entry("f")?.attributes.mtime == nil)
      try mount.rename("f", "moved")
      try mount.rename("d", "new")
      for path in moved { #expect(try mount.status(path).mtime == time) }
      if !isReopened { try mount.cut() }
    }
    let mount = try mounted(directory)
    for path in moved { #expect(try mount.status(path).mtime == time) }
    try mount.cut()
    for path in moved {
      #expect(try mount.entry(path)?.attributes.mtime == time)
      #expect(try mount.status(path).mtime == time)
    }
  }
}
