import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import MountedTree

/// Invariants J1 to J5 and the architecture's 1 and 2: a scripted life whose n-th call fails, falls short
/// or is the process's last.
@Suite(.timeLimit(.minutes(5)))
struct JournalFaultTests {
  /// Steps that were answered are noted in a file of their own, so that a dead process tells of them.
  static let steps = 9

  static func large(_ seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(100_000)
  }

  static func step(_ index: Int, _ mount: MountedTree) throws {
    switch index {
    case 0:
      try mount.save("small", "small")
    case 1:
      try mount.save("large", large(1))
    case 2:
      try mount.makeDirectory("d")
      try mount.save("d/inner", "inner")
    case 3:
      try mount.cut()
    case 4:
      try mount.rename("d", "e")
    case 5:
      let handle = try mount.open("large", .write)
      try mount.write(handle, large(2), at: 50_000)
      try mount.tree.fsync(handle)
      try mount.tree.release(handle)
    case 6:
      try mount.unlink("small")
    case 7:
      try mount.cut()
    default:
      try mount.save("last", "last")
    }
  }

  /// The text that a tree shows after so many steps.
  static func expected(_ done: Int) -> [String: Int] {
    var found: [String: Int] = [:]
    if done >= 1, done < 7 { found["small"] = 5 }
    if done >= 2 { found["large"] = done >= 6 ? 150_000 : 100_000 }
    if done >= 3 { found[done >= 5 ? "e/inner" : "d/inner"] = 5 }
    if done >= 9 { found["last"] = 4 }
    return found
  }

  static func shown(_ mount: MountedTree) throws -> [String: Int] {
    var found: [String: Int] = [:]
    for name in ["small", "large", "d/inner", "e/inner", "last"] {
      guard let bytes = try? mount.bytes(name) else { continue }
      found[name] = bytes.count
      if name == "large" {
        let one = large(1)
        let two = large(2)
        let whole = bytes.count == 100_000 ? one : Array(one[..<50_000]) + two
        if bytes != whole { found[name] = -1 }
      }
    }
    return found
  }

  /// Whether a tree shows what stands between two numbers of steps: a step that was not answered may
  /// have happened, or a part of it, as with a crash in the middle of any program.
  static func check(_ mount: MountedTree, answered: Int, _ context: String) throws {
    #expect(mount.recovery.losses == [], "\(context)")
    let found = try shown(mount)
    let least = expected(answered)
    let most = expected(min(answered + 1, steps))
    for (name, size) in least {
      let allowed = [size, most[name]]
      let partial = answered == 5 && name == "large"
      #expect(partial || allowed.contains(found[name]), "\(context): \(name) \(found)")
      if partial { #expect((found[name] ?? 0) >= 100_000, "\(context): \(name) \(found)") }
    }
    let report = try mount.store.verify()
    #expect(report.isSound, "\(context)")
    // The tree goes on as if nothing had been.
    try mount.save("after", "after")
    try mount.cut()
    #expect(try mount.head()["after"] == "after", "\(context)")
    #expect(try shown(mount) == found, "\(context)")
    // What was only half saved when the end came is in the tree, and in no version.
    for name in least.keys where found[name] != nil {
      #expect(try mount.head()[name] != nil, "\(context): \(name) is in no version")
    }
  }

  @Test(
    "whichever call the process dies at, everything that was answered is there",
    arguments: 0..<8)
  func dying(lane: Int) async throws {
    // Each lane tries every eighth call, far beyond the last of the life.
    for turn in 0..<12 {
      let nth = 1 + lane + turn * 8
      let directory = try TemporaryDirectory()
      let path = directory.path
      do { _ = try MountedTree(path) }
      await #expect(processExitsWith: .exitCode(137)) {
        [path = path as String, nth = nth as Int] in
        let mount = try MountedTree(path)
        let noted = try File(path + "/answered", [.readWrite, .create])
        _ = Faults.arm(
          Faults.Plan(
            calls: [.open, .write, .sync, .rename, .unlink, .allocate], below: path + "/s",
            nth: nth, action: .dieAfter(40)))
        for index in 0..<JournalFaultTests.steps {
          try JournalFaultTests.step(index, mount)
          try noted.write([UInt8(index + 1)], at: 0)
        }
        SystemProcess.exitAtOnce(137)
      }
      let answered = Int(try FileSystem.read(path + "/answered", atMost: 8).first ?? 0)
      try Self.check(try MountedTree(path), answered: answered, "died at \(nth)")
      if answered == Self.steps { return }
    }
    Issue.record("the life has more calls than are tried")
  }

  @Test(
    "whichever call fails, what was answered before stays, after a new mount too",
    arguments: [Errno.noSpace, Errno.inputOutput])
  func failing(code: Int32) throws {
    var failures = 0
    // Every other call fails in one way, the calls between in the other.
    for nth in stride(from: code == Errno.noSpace ? 1 : 2, to: 200, by: 2) {
      let directory = try TemporaryDirectory()
      var answered = 0
      var hasFailed = false
      do {
        let mount = try MountedTree(directory.path)
        let token = Faults.arm(
          Faults.Plan(
            calls: [.open, .write, .sync, .rename, .allocate], below: directory.path + "/s",
            nth: nth, times: 1, action: .fail(code)))
        defer { Faults.disarm(token) }
        for index in 0..<Self.steps {
          do {
            try Self.step(index, mount)
            if !hasFailed { answered = index + 1 }
          } catch {
            hasFailed = true
            break
          }
        }
        if !hasFailed, Faults.disarm(token) < nth { break }
      }
      failures += hasFailed ? 1 : 0
      try Self.check(try MountedTree(directory.path), answered: answered, "\(code) at \(nth)")
    }
    #expect(failures > 10)
  }

  @Test("a full disk is told by write, and what was written before is kept")
  func fullDisk() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    let handle = try mount.create("f")
    try mount.write(handle, Self.large(1))
    let token = Faults.arm(
      Faults.Plan(
        calls: [.write, .allocate], below: directory.path + "/s/journal",
        action: .fail(Errno.noSpace)))
    var written = 0
    var failure: FSError?
    // The room that was made beforehand is used up first.
    while failure == nil, written < 20_000 {
      do {
        try mount.write(handle, [UInt8](repeating: 1, count: 40_000), at: 100_000)
        written += 1
      } catch let error as FSError {
        failure = error
      }
    }
    Faults.disarm(token)
    guard case .system(let error)? = failure else {
      Issue.record("no write failed")
      return
    }
    #expect(error.errno == Errno.noSpace)
    // Nothing has changed, and it goes on when there is room again.
    #expect(try mount.bytes("f").count == 100_000 + (written > 0 ? 40_000 : 0))
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.head()["f"] != nil)
  }

  @Test("a tree on a full disk can be read, and written as soon as there is room")
  func openedOnFullDisk() throws {
    let directory = try TemporaryDirectory()
    do {
      let mount = try MountedTree(directory.path)
      try mount.save("versioned", "one")
      try mount.cut()
      try mount.save("versioned", "two")
      try mount.save("pending", Self.large(1))
    }
    let token = Faults.arm(
      Faults.Plan(
        calls: [.write, .allocate], below: directory.path + "/s/journal",
        action: .fail(Errno.noSpace)))
    let mount = try MountedTree(directory.path)
    #expect(mount.recovery.losses == [])
    #expect(mount.recovery.obstacle?.contains("No space left") == true)
    #expect(mount.text("versioned") == "two")
    #expect(try mount.bytes("pending") == Self.large(1))
    for _ in 0..<2 {
      #expect(throws: FSError.self) { try mount.save("versioned", "three") }
      #expect(throws: StoreError.self) { try mount.cut() }
    }
    #expect(mount.text("versioned") == "two")
    Faults.disarm(token)
    try mount.save("versioned", "three")
    try mount.cut()
    #expect(try mount.head()["versioned"] == "three")
    #expect(try mount.head()["pending"] != nil)
  }

  @Test(
    "a cut of many files is not made where its mark does not come to the disk, or there is no room",
    arguments: [SystemCall.sync, .allocate])
  func manyFilesWithoutMark(_ call: SystemCall) throws {
    let directory = try TemporaryDirectory()
    let names = (0..<400).map { "f\($0)" }
    do {
      let mount = try MountedTree(directory.path)
      for name in names { try mount.save(name, name) }
      let token = Faults.arm(
        Faults.Plan(
          calls: [call], below: directory.path + "/s/journal", action: .fail(Errno.noSpace)))
      #expect(throws: StoreError.self) { try mount.cut() }
      Faults.disarm(token)
      #expect(try mount.store.headNumbers().isEmpty)
      for name in names { #expect(mount.text(name) == name) }
    }
    let mount = try MountedTree(directory.path)
    try mount.cut()
    let head = try mount.head()
    for name in names { #expect(head[name] == name) }
  }

  @Test(
    "a generation that could not be begun is begun by the next change, and nothing is lost between")
  func begunLater() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    try mount.save("a", "one")
    let token = Faults.arm(
      Faults.Plan(
        calls: [.rename], below: directory.path + "/s/journal",
        action: .fail(Errno.inputOutput)))
    try mount.cut()
    #expect(throws: FSError.self) { try mount.save("b", "two") }
    Faults.disarm(token)
    try mount.save("b", "two")
    try mount.save("a", "three")
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, copy.file("s"))
    let again = try MountedTree(copy.path)
    #expect(again.recovery.losses == [])
    #expect(again.text("a") == "three" && again.text("b") == "two")
    #expect(try again.head() == ["a": "one"])
  }

  @Test("short writes are carried on with")
  func shortWrites() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    let token = Faults.arm(
      Faults.Plan(calls: [.write], below: directory.path + "/s/journal", action: .short(17)))
    for index in 0..<Self.steps { try Self.step(index, mount) }
    Faults.disarm(token)
    #expect(try Self.shown(mount) == Self.expected(Self.steps))
  }
}
