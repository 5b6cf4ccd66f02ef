import LLVSCore
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import TreeSupport

/// What a working tree needs of versions that its store forgets.
@Suite(.timeLimit(.minutes(1)))
struct ForgottenTreeTests {
  let directory: TemporaryDirectory
  private var random = SeededRandom(seed: 6)

  init() throws { directory = try TemporaryDirectory() }

  private func forget(_ mount: MountedTree) throws -> ForgetReport {
    try mount.store.forget(
      try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000,
      besides: { () throws(StoreError) in try mount.tree.roots() })
  }

  private func isForgotten(_ number: UInt32, in mount: MountedTree) throws -> Bool {
    try mount.store.forgottenVersions().contains(VersionNumber(number))
  }

  @Test("bytes that an open file without a name shows are kept until it is closed")
  mutating func detached() throws {
    let mount = try MountedTree(directory.path)
    let old = random.bytes(100_000)
    try mount.save("f", old)
    try mount.cut()
    let handle = try mount.open("f", .write)
    let inode = try mount.inode("f")
    try mount.write(handle, Array("x".utf8))
    try mount.unlink("f")
    try mount.cut()
    try mount.save("g", random.bytes(1000))
    try mount.cut()
    _ = try forget(mount)
    var expected = old
    expected.replaceSubrange(0..<1, with: Array("x".utf8))
    #expect(try mount.bytes(ofInode: inode) == expected)
    try mount.close(handle)
    #expect(try forget(mount).goneBytes >= 100_000)
    #expect(try isForgotten(1, in: mount))
    #expect(try mount.store.verify().isSound)
  }

  @Test(
    "a pending change of a large file keeps the value that it is made on, also after the process died"
  )
  mutating func pending() throws {
    let old = random.bytes(300_000)
    do {
      let mount = try MountedTree(directory.path)
      try mount.save("f", old)
      try mount.cut()
      let handle = try mount.open("f", .write)
      try mount.write(handle, Array("pending".utf8))
      try mount.save("g", random.bytes(1000))
      try mount.cut()
      _ = try forget(mount)
    }
    let mount = try MountedTree(directory.path)
    var expected = old
    expected.replaceSubrange(0..<7, with: Array("pending".utf8))
    #expect(try mount.bytes("f") == expected)
    _ = try forget(mount)
    #expect(try mount.bytes("f") == expected)
    try mount.cut()
    #expect(try mount.bytes("f") == expected)
    #expect(try mount.store.verify().isSound)
  }

  @Test("nothing is forgotten while an unreadable journal may need it")
  mutating func damagedJournal() throws {
    let mount = try MountedTree(directory.path)
    try mount.save("f", random.bytes(100_000))
    try mount.cut()
    try mount.save("f", random.bytes(100_000))
    try mount.cut()
    try FileSystem.makeDirectory("\(mount.store.path)/journal.damaged-1")
    let error = #expect(throws: StoreError.self) { try forget(mount) }
    #expect(error?.message.contains("journal.damaged-1") == true)
    try FileSystem.removeDirectory("\(mount.store.path)/journal.damaged-1")
    #expect(try forget(mount).newlyForgotten == 1)
  }

  @Test("a cut takes everything but changes on forgotten bytes, and carries unchanged values")
  mutating func absentBase() throws {
    let mount = try MountedTree(directory.path)
    for name in ["changed", "moved", "replaced"] { try mount.save(name, random.bytes(100_000)) }
    let first = try #require(try mount.cut().cut)
    for name in ["changed", "moved", "replaced"] { try mount.unlink(name) }
    try mount.save("g", random.bytes(1000))
    try mount.cut()
    _ = try forget(mount)
    _ = try mount.tree.transition(.command, headReason: .switched(to: "old")) {
      (_, _) throws(StoreError) in first.number
    }
    let handle = try mount.open("changed", .write)
    try mount.write(handle, Array("x".utf8))
    try mount.close(handle)
    try mount.rename("moved", "elsewhere")
    try mount.save("replaced", Array("new".utf8))
    try mount.save("h", random.bytes(1000))
    for attempt in 0..<2 {
      let outcome = try mount.cut()
      #expect(outcome.withoutBasePaths == [Array("changed".utf8)] && outcome.damagedPaths.isEmpty)
      #expect((outcome.cut != nil) == (attempt == 0))
    }
    let head = try #require(try mount.store.headRecord())
    let (old, new) = (mount.store.map(of: first), mount.store.map(of: head))
    let carried = try new.entry(at: Key("elsewhere"))
    #expect(try carried?.stored.digest == old.entry(at: Key("moved"))?.stored.digest)
    #expect(try new.entry(at: Key("changed"))?.stored == old.entry(at: Key("changed"))?.stored)
    #expect(try new.entry(at: Key("replaced"))?.stored.length == 3)
    #expect(try new.entry(at: Key("h")) != nil)
    #expect(try mount.store.verify().isSound)
    // With new bytes the file is in the next version.
    try mount.save("changed", Array("whole".utf8))
    #expect(try mount.cut().withoutBasePaths.isEmpty)
    #expect(try mount.bytes("changed") == Array("whole".utf8))
  }
}
