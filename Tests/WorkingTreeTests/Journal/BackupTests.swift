import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import TreeSupport

@Suite("Backups of a store in use", .timeLimit(.minutes(2)))
struct BackupTests {
  @Test("what is written and in no version yet is in a backup")
  func pending() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    var random = SeededRandom(seed: 3)
    let large = random.bytes(200_000)
    try mount.save("versioned", "one")
    try mount.cut()
    try mount.save("versioned", "two")
    try mount.save("large", large)
    try mount.makeDirectory("d")
    let handle = try mount.create("d/unsaved")
    try mount.write(handle, Array("half".utf8))
    let copy = try TemporaryDirectory()
    try TreeSession.backup(mount.store, to: copy.file("s"))
    try mount.save("versioned", "three")
    try mount.cut()
    let again = try MountedTree(copy.path)
    #expect(again.recovery.losses == [])
    #expect(again.text("versioned") == "two" && again.text("d/unsaved") == "half")
    #expect(try again.bytes("large") == large)
    #expect(try again.head() == ["versioned": "one"])
    #expect(again.store.replicaID != mount.store.replicaID)
    let error = #expect(throws: StoreError.self) {
      try TreeSession.backup(mount.store, to: copy.file("s"))
    }
    #expect(error?.message.contains("status and diff open a copy for changes") == true)
    try again.cut()
    #expect(try again.head()["versioned"] == "two")
    #expect(try again.store.verify().isSound)
  }

  @Test("a later backup writes what is new, also after an interrupted one")
  func incremental() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    var random = SeededRandom(seed: 4)
    try mount.save("large", random.bytes(3 << 20))
    try mount.cut()
    let place = try TemporaryDirectory()
    let target = place.file("s")
    #expect(throws: StoreError.self) {
      try TreeSession.backup(mount.store, to: target) { done, _ in done < 2 << 20 }
    }
    #expect(try !FileSystem.exists("\(target)/store.sqlite"))
    #expect(try TreeSession.backup(mount.store, to: target) < 2 << 20)
    try mount.save("small", "1")
    try mount.cut()
    try mount.save("pending", "2")
    // A cancelled transaction may leave bytes in a copy that the store has no more.
    let last = try #require(try FileSystem.list("\(target)/segments").max())
    let segment = try File("\(target)/segments/\(last)", .readWrite)
    try segment.write(random.bytes(5 << 20), at: try segment.status().size)
    #expect(throws: StoreError.self) {
      try TreeSession.backup(mount.store, to: target) { _, _ in false }
    }
    try check(target, ["large"])
    let written = try TreeSession.backup(
      mount.store, to: target, settings: ["isolated": Array("on".utf8)])
    #expect(written > 0 && written < 3 << 20)
    try check(target, ["large", "small", "pending"])
    #expect(try TreeSession.backup(mount.store, to: target) == 0)
  }

  /// Mounts a copy of a copy, which has these files and is sound.
  private func check(_ target: String, _ names: [String]) throws {
    let place = try TemporaryDirectory()
    try FileManager.default.copyItem(atPath: target, toPath: place.file("s"))
    let again = try MountedTree(place.path)
    #expect(again.recovery.losses == [])
    for name in names { #expect(try !again.bytes(name).isEmpty, "\(name)") }
    #expect(try again.store.verify().isSound)
  }

  @Test("a directory with anything else than an unchanged copy is refused")
  func refused() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    try mount.save("a", "1")
    try mount.cut()
    let place = try TemporaryDirectory()
    let other = try MountedTree(place.path)
    try other.save("b", "2")
    try other.cut()
    try TreeSession.backup(other.store, to: place.file("copy"))
    _ = try? TreeSession.backup(other.store, to: place.file("part")) { _, _ in false }
    for name in ["", "/s", "/copy", "/part"] {
      #expect(throws: StoreError.self, "\(name)") {
        try TreeSession.backup(mount.store, to: place.path + name)
      }
    }
    #expect(throws: StoreError.self) {
      try TreeSession.backup(mount.store, to: mount.store.path)
    }
    #expect(try mount.store.verify().isSound && other.store.verify().isSound)
  }

  @Test("a backup while versions are made is a state that was")
  func underLoad() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    try mount.save("a", "0")
    try mount.save("b", "0")
    // What the thread uses of it is safe for any thread.
    nonisolated(unsafe) let writer = mount
    let isStopping = Monitor(false)
    let isStopped = Monitor(false)
    let writes = Monitor(0)
    try SystemThread.detach {
      var turn = 0
      while !isStopping.withLock({ $0 }) {
        turn += 1
        // In every state that was, b is as new as a, or by one older.
        try? writer.save("a", "\(turn)")
        try? writer.save("b", "\(turn)")
        if turn % 20 == 0 { _ = try? writer.cut() }
        // Leaves the processor to the copy.
        SystemClock.sleep(nanoseconds: 1_000_000)
        writes.withLock { $0 += 1 }
      }
      isStopped.withLock { $0 = true }
      isStopped.broadcast()
    }
    for _ in 0..<8 {
      let copy = try TemporaryDirectory()
      try TreeSession.backup(mount.store, to: copy.file("s"))
      let again = try MountedTree(copy.path)
      #expect(again.recovery.losses == [])
      let (a, b) = (again.text("a"), again.text("b"))
      #expect(a != nil && b != nil)
      if let a = a.flatMap({ Int($0) }), let b = b.flatMap({ Int($0) }) {
        #expect(a == b || a == b + 1, "a \(a), b \(b)")
      }
      #expect(try again.store.verify().isSound)
    }
    isStopping.withLock { $0 = true }
    _ = isStopped.wait { $0 ? true : nil }
    #expect(writes.withLock { $0 } > 8)
  }
}
