import Dispatch
import Grammar
import LLVSCore
import Platform
import Synchronization
import TestSupport
import Testing
import WorkingTree

@testable import TreeSupport

@Suite(.timeLimit(.minutes(3)))
struct LiveConcurrencyTests {
  /// The tree alone crosses threads, as in a mount.
  struct Worker: Sendable {
    let tree: TreeSession
    let lane: Int

    func bytes(_ round: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(truncatingIfNeeded: lane &* 31 &+ round), count: 10 + round * 997)
    }

    func name(_ index: Int) -> [UInt8] { Array("w\(lane)-\(index)".utf8) }

    /// Saves by writing, by renaming over, and removes; every answer is looked at.
    func run(_ rounds: Int) throws {
      let root = TreeSession.rootInode
      let folder = try tree.makeDirectory(
        root, Array("lane\(lane)".utf8), mode: 0o755, caller: MountedTree.caller
      ).inode
      for round in 0..<rounds {
        let index = round % 5
        let temporary = Array("tmp\(round)".utf8)
        let (status, handle) = try tree.create(
          folder, temporary, mode: 0o644, open: .write, caller: MountedTree.caller)
        let bytes = bytes(round)
        try bytes.withUnsafeBytes { try tree.write(handle, at: 0, $0) }
        try tree.flush(handle)
        try tree.rename(folder, temporary, folder, name(index), mode: .replacing)
        try tree.release(handle)
        tree.forget(status.node, count: 1)
        let found = try tree.lookup(folder, name(index))
        let read = try [UInt8](unsafeUninitializedCapacity: bytes.count + 1) { buffer, used in
          let raw = UnsafeMutableRawBufferPointer(buffer)
          used = try tree.read(found.inode, at: 0, into: raw)
        }
        guard read == bytes else { throw StoreError.corrupt("lane \(lane) round \(round)") }
        if round % 7 == 6 {
          try tree.unlink(folder, name(index))
        } else if round % 11 == 10 {
          let open = try tree.open(found.inode, mode: .write)
          try bytes.withUnsafeBytes { try tree.write(open, at: UInt64(bytes.count), $0) }
          try tree.fsync(open)
          try tree.release(open)
        }
        tree.forget(found.inode, count: 1)
        _ = try tree.list(folder)
      }
      tree.forget(folder, count: 1)
    }
  }

  @Test("threads that save, rename, remove, read and list while cuts are made see only their own")
  func lanes() throws {
    let directory = try TemporaryDirectory()
    var settings = StoreSettings()
    settings.settle = 1_000_000
    let mount = try MountedTree(directory.path, settings: settings)
    let tree = mount.tree
    let failures = Mutex<[String]>([])
    let left = Atomic<Int>(3)
    DispatchQueue.concurrentPerform(iterations: 5) { lane in
      do {
        if lane < 3 {
          defer { left.subtract(1, ordering: .sequentiallyConsistent) }
          try Worker(tree: tree, lane: lane).run(120)
        } else {
          while left.load(ordering: .sequentiallyConsistent) > 0 {
            if lane == 3 {
              _ = try tree.cut([.quiet, .overdue, .command].randomElement() ?? .quiet)
            } else {
              _ = tree.pending()
              try tree.sync()
            }
          }
        }
      } catch {
        failures.withLock { $0.append("\(lane): \(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    try mount.cut()
    let head = try mount.head()
    for lane in 0..<3 {
      for name in try mount.names("lane\(lane)") {
        #expect(head["lane\(lane)/\(name)"] == mount.text("lane\(lane)/\(name)"))
      }
    }
    #expect(try mount.store.verify().isSound)
    #expect(mount.tree.isForgotten)
  }
}
