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
}
