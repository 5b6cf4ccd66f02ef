import MountedTree
import Platform
import TestSupport
import Testing

/// Large writes, whose halves go to two files at the same time.
@Suite(.timeLimit(.minutes(3)))
struct StagingTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func stages(_ mount: MountedTree) throws -> [String] {
    try FileSystem.list(mount.path + "/journal").filter { $0.hasSuffix(".stage") }.sorted()
  }

  /// What another mount of the store would show now, were the daemon killed.
  private func checkCopy(_ name: String, _ bytes: [UInt8]) throws {
    let copy = try TemporaryDirectory()
    try copyTree(directory.file("s"), copy.file("s"))
    let mount = try MountedTree(copy.path)
    #expect(mount.recovery.losses == [])
    #expect(try mount.bytes(name) == bytes)
  }

  @Test("a large write stands in two files, and is read, replayed and taken into a version whole")
  func halves() throws {
    let mount = try MountedTree.unhurried(directory.path)
    var expected: [UInt8] = []
    let handle = try mount.create("f")
    for (index, count) in [1 << 20, 524_288, 524_287, 600_001, 40_000, 3 << 20].enumerated() {
      let bytes = [UInt8].random(seed: UInt64(index), count)
      try mount.write(handle, bytes, at: UInt64(expected.count))
      expected += bytes
    }
    // Over the seam of two halves, and over a whole write.
    for (seed, offset, count) in [(20, 500_000, 60_000), (21, 1 << 20, 524_288), (22, 3, 700_000)] {
      let bytes = [UInt8].random(seed: UInt64(seed), count)
      try mount.write(handle, bytes, at: UInt64(offset))
      expected.replaceSubrange(offset..<(offset + count), with: bytes)
    }
    try mount.tree.release(handle)
    #expect(try stages(mount).count == 2)
    #expect(try mount.bytes("f") == expected)
    try checkCopy("f", expected)
    try mount.cut()
    #expect(try stages(mount) == [])
    #expect(try mount.bytes("f") == expected)
    try checkCopy("f", expected)
  }

  @Test("where either half cannot be written nothing has changed, and the next write goes on")
  func failing() throws {
    let mount = try MountedTree.unhurried(directory.path)
    let before = [UInt8].random(seed: 1, 1 << 20)
    try mount.save("f", before)
    for nth in 1...2 {
      let handle = try mount.open("f", .write)
      let token = Faults.arm(
        Faults.Plan(
          calls: [.write], below: mount.path + "/journal", nth: nth, times: 1,
          action: .fail(Errno.inputOutput)))
      #expect(throws: (any Error).self) {
        try mount.write(handle, [UInt8].random(seed: 2, 1 << 20), at: 0)
      }
      Faults.disarm(token)
      #expect(try mount.bytes("f") == before)
      try mount.tree.release(handle)
      try checkCopy("f", before)
    }
    let after = [UInt8].random(seed: 3, 900_000)
    try mount.save("f", after)
    #expect(try mount.bytes("f") == after)
    try mount.cut()
    #expect(try stages(mount) == [])
    try checkCopy("f", after)
  }

  @Test("a sync of either file that fails has both written anew", arguments: 1...3)
  func syncing(nth: Int) throws {
    let mount = try MountedTree.unhurried(directory.path)
    let bytes = [UInt8].random(seed: 1, 2 << 20)
    try mount.save("f", bytes)
    let token = Faults.arm(
      Faults.Plan(
        calls: [.sync], below: mount.path + "/journal", nth: nth, times: 1,
        action: .fail(Errno.inputOutput)))
    #expect(throws: (any Error).self) { try mount.tree.sync() }
    Faults.disarm(token)
    #expect(mount.tree.refusalReason == nil)
    #expect(try mount.bytes("f") == bytes)
    try checkCopy("f", bytes)
    let after = [UInt8].random(seed: 2, 1 << 20)
    try mount.save("f", after)
    try mount.tree.sync()
    try checkCopy("f", after)
  }
}
