import Events
import LLVSCore
import MountedTree
import Platform
import Synchronization
import TestSupport
import Testing
import TreeNames

/// Invariant J7: one sync that fails is told to whoever asked for it, and the tree goes on.
@Suite(.timeLimit(.minutes(3)))
struct JournalHealingTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  func arm(_ suffix: String = "", nth: Int = 1, times: Int = 1) -> Faults.Token {
    Faults.arm(
      Faults.Plan(
        calls: [.sync], below: directory.path + "/s/journal" + suffix, nth: nth, times: times,
        action: .fail(Errno.inputOutput)))
  }

  /// The errno that a body fails with; nil if it does not.
  func code(_ body: () throws -> Void) -> Int32? {
    do { try body() } catch FSError.system(let error) { return error.errno } catch { return -1 }
    return nil
  }

  /// What another mount of the store would show now, were the daemon killed.
  func checkCopy(_ expected: [String: [UInt8]]) throws {
    let copy = try TemporaryDirectory()
    try copyTree(directory.file("s"), copy.file("s"))
    let mount = try MountedTree(copy.path)
    #expect(mount.recovery.losses == [])
    try check(mount, expected)
  }

  /// Everything that may be pending, and what it must be.
  func fill(_ mount: MountedTree) throws -> [String: [UInt8]] {
    var expected: [String: [UInt8]] = [:]
    try mount.save("versioned", [UInt8].random(seed: 1, 90_000))
    try mount.cut()
    for index in 0..<20 {
      expected["small\(index)"] = [UInt8].random(seed: UInt64(index), 100 * index)
    }
    expected["large"] = [UInt8].random(seed: 30, 700_000)
    for (name, bytes) in expected { try mount.save(name, bytes) }
    // Over a version's bytes, partly; saved, and changed since.
    let handle = try mount.open("versioned", .write)
    try mount.write(handle, [UInt8].random(seed: 2, 40_000), at: 70_000)
    try mount.tree.flush(handle)
    try mount.write(handle, [UInt8].random(seed: 3, 10), at: 5)
    try mount.tree.release(handle)
    var versioned =
      Array([UInt8].random(seed: 1, 90_000)[..<70_000]) + [UInt8].random(seed: 2, 40_000)
    versioned.replaceSubrange(5..<15, with: [UInt8].random(seed: 3, 10))
    expected["versioned"] = versioned
    try mount.makeDirectory("d")
    try mount.rename("small3", "d/moved")
    expected["d/moved"] = expected.removeValue(forKey: "small3")
    return expected
  }

  func check(_ mount: MountedTree, _ expected: [String: [UInt8]]) throws {
    for (name, bytes) in expected { #expect(try mount.bytes(name) == bytes, "\(name)") }
  }

  @Test("the fsync that failed says so; everything after it works, and is in versions")
  func once() throws {
    for nth in 1...3 {
      let token = arm(nth: .max)
      let mount = try MountedTree.unhurried(directory.path)
      var expected = try fill(mount)
      let handle = try mount.open("large", .read)
      Faults.disarm(token)
      // First the staging files, then the journal.
      let failing = arm(nth: nth)
      #expect(code { try mount.tree.fsync(handle) } == Errno.inputOutput)
      Faults.disarm(failing)
      #expect(mount.tree.refusalReason == nil)
      try check(mount, expected)
      try checkCopy(expected)
      try mount.tree.fsync(handle)
      for name in ["after", "small5"] {
        expected[name] = [UInt8].random(seed: 77, 50_000)
        try mount.save(name, expected[name] ?? [])
      }
      try checkCopy(expected)
      try mount.cut()
      #expect(try Set(mount.head().keys) == Set(expected.keys).union(["d/"]))
      try check(mount, expected)
      let log = EventLog(directory: mount.path).lastLines(20)
      #expect(log.contains { $0.contains("fdatasync") && $0.contains("written again") }, "\(log)")
      #expect(log.contains { $0.contains("were written again, and are on the disk") }, "\(log)")
      try FileSystem.removeTree(mount.path)
    }
  }

  @Test("a file whose sync failed is never synced again, nor kept")
  func abandoned() throws {
    let mount = try MountedTree(directory.path)
    try mount.save("large", [UInt8].random(seed: 1, 200_000))
    let before = try FileSystem.list(mount.path + "/journal").filter { $0 != "reserve" }.sorted()
    let counts = before.map { arm("/" + $0, nth: .max) }
    let token = arm()
    #expect(code { try mount.tree.sync() } == Errno.inputOutput)
    Faults.disarm(token)
    #expect(counts.map { Faults.disarm($0) }.reduce(0, +) == 1)
    try mount.save("other", [UInt8].random(seed: 2, 200_000))
    try mount.tree.sync()
    let after = try FileSystem.list(mount.path + "/journal")
    #expect(Set(after).isDisjoint(with: before), "\(after)")
    #expect(try mount.bytes("large") == [UInt8].random(seed: 1, 200_000))
  }

  @Test("while the disk takes nothing, nothing is taken; later it goes on by itself")
  func longer() throws {
    let mount = try MountedTree(directory.path)
    try mount.save("before", [UInt8].random(seed: 1, 100_000))
    let token = arm(times: .max)
    #expect(code { try mount.tree.sync() } == Errno.inputOutput)
    for _ in 0..<3 {
      #expect(code { try mount.save("after", "x") } == Errno.inputOutput)
      #expect(throws: StoreError.self) { try mount.cut() }
    }
    #expect(try mount.bytes("before") == [UInt8].random(seed: 1, 100_000))
    let files = try FileSystem.list(mount.path + "/journal")
    // What was there before and the last attempt's.
    let others = files.filter { $0 != "reserve" }
    #expect(others.count <= 4, "\(files)")
    #expect(mount.tree.refusalReason?.contains("written again") == true)
    Faults.disarm(token)
    #expect(
      eventually(seconds: 30) { (try? mount.save("after", "y")) != nil })
    try checkCopy(["before": [UInt8].random(seed: 1, 100_000), "after": Array("y".utf8)])
    try mount.cut()
    #expect(try mount.head().keys.sorted() == ["after", "before"])
    // And a command goes on at once.
    try mount.save("z", "z")
    let again = arm(times: 3)
    #expect(code { try mount.tree.sync() } == Errno.inputOutput)
    Faults.disarm(again)
    try mount.cut()
    #expect(try mount.head()["z"] == "z")
  }

  @Test("bytes that cannot be read back are an error and named; the others go on")
  func lost() throws {
    let mount = try MountedTree(directory.path)
    try mount.save("good", [UInt8].random(seed: 1, 200_000))
    try mount.save("bad", [UInt8].random(seed: 2, 200_000))
    try mount.save("inline", [UInt8].random(seed: 3, 1000))
    let stage = try #require(
      try FileSystem.list(mount.path + "/journal").first { $0.hasSuffix(".stage") })
    // The kernel lost a page that it could not write.
    try File(mount.path + "/journal/" + stage, .readWrite).write(
      [UInt8](repeating: 0, count: 4096), at: 270_000)
    let token = arm()
    #expect(code { try mount.tree.sync() } == Errno.inputOutput)
    Faults.disarm(token)
    #expect(try mount.bytes("good") == [UInt8].random(seed: 1, 200_000))
    #expect(try mount.bytes("inline") == [UInt8].random(seed: 3, 1000))
    #expect(throws: FSError.self) { try mount.bytes("bad") }
    let log = EventLog(directory: mount.path).lastLines(20)
    #expect(log.contains { $0.contains("bad: bytes did not reach the disk") }, "\(log)")
    #expect(!log.contains { $0.contains("good:") }, "\(log)")
    #expect(try mount.cut().unreadable == [Array("bad".utf8)])
    #expect(try mount.head().keys.sorted() == ["good", "inline"])
    try mount.save("bad", "new")
    try mount.cut()
    #expect(try mount.head()["bad"] == "new")
    let names = try FileSystem.list(mount.path + "/journal")
    #expect(!names.contains(stage), "\(names)")
  }

  @Test("a process that dies while all is written anew has lost nothing", arguments: 1...16)
  func dying(nth: Int) async throws {
    let path = directory.path
    await #expect(processExitsWith: .exitCode(137)) {
      [path = path as String, nth = nth as Int] in
      let mount = try MountedTree(path)
      for index in 0..<5 {
        try mount.save("f\(index)", [UInt8].random(seed: UInt64(index), 20_000 * index))
      }
      _ = Faults.arm(
        Faults.Plan(
          calls: [.sync], below: path + "/s", times: 1, action: .fail(Errno.inputOutput)))
      _ = Faults.arm(
        Faults.Plan(
          calls: [.open, .write, .sync, .rename, .unlink, .allocate], below: path + "/s",
          nth: nth + 1, action: .dieAfter(40)))
      try? mount.tree.sync()
      SystemProcess.exitAtOnce(137)
    }
    let mount = try MountedTree(path)
    #expect(mount.recovery.losses == [])
    for index in 0..<5 {
      #expect(try mount.bytes("f\(index)") == [UInt8].random(seed: UInt64(index), 20_000 * index))
    }
    try mount.cut()
    #expect(try mount.head().count == 5)
  }

  @Test("many at work while syncs fail now and then: what was answered is there")
  func load() throws {
    // Its path and its tree alone are used by several threads.
    nonisolated(unsafe) let mount = try MountedTree(directory.path)
    let ended = Mutex(0)
    let unknown = Mutex<[String]>([])
    let saved = Mutex<[String: [UInt8]]>([:])
    let isOver = Atomic<Bool>(false)
    for thread in 0..<4 {
      try SystemThread.detach {
        for turn in 0..<60 {
          let name = "t\(thread)-\(turn % 20)"
          let bytes = [UInt8].random(
            seed: UInt64(thread * 1000 + turn), [10, 4000, 70_000][turn % 3])
          do {
            let handle =
              try (try? mount.status(name)) == nil
              ? mount.create(name) : mount.open(name, [.write, .truncate])
            do {
              try mount.write(handle, bytes)
              if turn % 4 == 0 { try mount.tree.fsync(handle) }
              try mount.close(handle)
              saved.withLock { $0[name] = bytes }
            } catch {
              unknown.withLock { $0.append(name) }
              try? mount.tree.release(handle)
            }
          } catch {
            unknown.withLock { $0.append(name) }
          }
        }
        ended.withLock { $0 += 1 }
      }
    }
    try SystemThread.detach {
      while !isOver.load(ordering: .relaxed) {
        let failing = Faults.arm(
          Faults.Plan(
            calls: [.sync], below: mount.path + "/journal", nth: 2, times: 1,
            action: .fail(Errno.inputOutput)))
        // The time for which syncs fail.
        SystemClock.sleep(nanoseconds: 20_000_000)
        Faults.disarm(failing)
        _ = try? mount.cut()
      }
      ended.withLock { $0 += 1 }
    }
    #expect(eventually(seconds: 100) { ended.withLock { $0 } >= 4 })
    isOver.store(true, ordering: .relaxed)
    #expect(eventually(seconds: 60) { ended.withLock { $0 } == 5 })
    let doubtful = Set(unknown.withLock { $0 })
    let expected = saved.withLock { $0.filter { !doubtful.contains($0.key) } }
    #expect(expected.count > 10)
    try check(mount, expected)
    try mount.cut()
    try check(mount, expected)
    #expect(try mount.store.verify().isSound)
    try checkCopy(expected)
  }
}
