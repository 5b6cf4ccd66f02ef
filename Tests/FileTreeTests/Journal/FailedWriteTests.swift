import FileTree
import LLVS
import Platform
import TestSupport
import Testing

@testable import FileTree

/// What could not be recorded is not shown, whatever the disk said.
@Suite(.timeLimit(.minutes(1)))
struct FailedWriteTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func arm(_ code: Int32) -> Faults.Token {
    Faults.arm(
      Faults.Plan(
        calls: [.write], below: directory.path + "/s/journal", nth: 1, times: .max,
        action: .fail(code)))
  }

  /// The errno that a body throws.
  private func code(_ body: () throws -> Void) -> Int32? {
    do {
      try body()
      return nil
    } catch FSError.system(let error) {
      return error.errno
    } catch {
      return -1
    }
  }

  /// Everything that makes a name.
  private static let makers: [@Sendable (MountedTree, [UInt8]) throws -> Void] = [
    { mount, name in
      _ = try mount.tree.create(
        LiveTree.rootInode, name, mode: 0o644, open: .write, caller: MountedTree.caller)
    },
    { mount, name in
      _ = try mount.tree.makeDirectory(
        LiveTree.rootInode, name, mode: 0o755, caller: MountedTree.caller)
    },
    { mount, name in
      _ = try mount.tree.makeSymlink(
        LiveTree.rootInode, name, target: [65], caller: MountedTree.caller)
    },
    { mount, name in
      _ = try mount.tree.makeNode(
        LiveTree.rootInode, name, kind: .fifo, mode: 0o644, caller: MountedTree.caller)
    },
    { mount, name in try mount.link("before", String(decoding: name, as: UTF8.self)) },
    { mount, name in try mount.rename("other", String(decoding: name, as: UTF8.self)) },
  ]

  @Test(
    "a name whose making failed is not shown, and is none in the next mount",
    arguments: [Errno.fileTooBig, Errno.inputOutput, Errno.quota, Errno.noSpace], 0..<6)
  func making(code: Int32, maker: Int) throws {
    do {
      let mount = try MountedTree.unhurried(directory.path)
      try mount.save("before", "before")
      try mount.save("other", "other")
      let token = arm(code)
      for turn in 0..<3 {
        let name = Array("new\(turn)".utf8)
        #expect(self.code { try Self.makers[maker](mount, name) } == code)
        #expect(try mount.names() == ["before", "other"], "\(turn)")
        #expect(try mount.status("before").links == 1)
      }
      Faults.disarm(token)
      #expect(try mount.names() == ["before", "other"])
      try Self.makers[maker](mount, Array("made".utf8))
      try mount.save("after", "after")
      let names = try mount.names()
      #expect(names.subtracting(["other"]) == ["before", "made", "after"])
      try mount.cut()
      #expect(mount.text("before") == "before")
      #expect(try mount.names() == names)
    }
    let mount = try MountedTree(directory.path)
    #expect(mount.recovery.losses == [])
    #expect(try mount.names().isSuperset(of: ["before", "made", "after"]))
    #expect(try mount.names().isDisjoint(with: ["new0", "new1", "new2"]))
  }

  @Test("once the disk refused something, nothing is changed before it took what is recorded")
  func later() throws {
    do {
      let mount = try MountedTree.unhurried(directory.path)
      try mount.save("before", "before")
      try mount.save("gone", "gone")
      let token = arm(Errno.inputOutput)
      #expect(code { try mount.makeDirectory("d") } == Errno.inputOutput)
      #expect(code { try mount.unlink("gone") } == Errno.inputOutput)
      #expect(code { try mount.rename("before", "gone") } == Errno.inputOutput)
      #expect(code { try mount.change("before") { $0.mode = 0o600 } } == Errno.inputOutput)
      let handle = try mount.open("before", .write)
      #expect(code { try mount.write(handle, [88]) } == Errno.inputOutput)
      try mount.tree.release(handle)
      #expect(try mount.names() == ["before", "gone"])
      #expect(mount.text("before") == "before")
      #expect(try mount.status("before").mode == 0o644)
      Faults.disarm(token)
      try mount.unlink("gone")
      try mount.cut()
      #expect(try mount.head() == ["before": "before"])
    }
    #expect(try MountedTree(directory.path).names() == ["before"])
  }
}
