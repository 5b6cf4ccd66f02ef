import LLVSCore
import Platform
import Synchronization
import TestSupport
import Testing

@testable import SQLite
@testable import TreeNames
@testable import TreeSupport
@testable import WorkingTree

/// Invariant S2 of the store, and docs/writes.md, rule 6: the power is cut at any call, also where
/// space is allotted or given back, and what was synced is there.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct PowerCutTests {
  static let steps = 12

  static func bytes(_ seed: UInt64, _ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }

  /// Does a step, which is durable when this returns, and says what is there then.
  static func step(_ index: Int, _ mount: MountedTree) throws {
    switch index {
    case 0: try mount.save("small", bytes(1, 700))
    case 1: try mount.save("large", bytes(2, 150_000))
    case 2:
      try mount.makeDirectory("d")
      try mount.save("d/inner", bytes(3, 5000))
    case 3: try mount.cut()
    case 4:
      let handle = try mount.open("large", .write)
      try mount.write(handle, bytes(4, 100_000), at: 100_000)
      try mount.close(handle)
    case 5: try mount.rename("d", "e")
    case 6: try mount.save("gone", bytes(5, 300_000))
    case 7: try mount.unlink("gone")
    case 8:
      // The disk gets back what nothing refers to: what removed it is synced first.
      try mount.save("small", bytes(6, 900))
      try mount.save("replaced", bytes(7, 90_000))
      try mount.save("replaced", bytes(8, 80_000))
      // Where no hole can be made the bytes go with the file.
      mount.tree.files.makeRoom()
    case 9: try mount.cut()
    case 10:
      // So much that more room is allotted for the journal.
      for part in 0..<100 { try mount.save("many\(part % 10)", bytes(UInt64(part), 30_000)) }
    default: try mount.save("last", bytes(9, 40_000))
    }
    try mount.tree.sync()
  }

  static func expected(_ done: Int) -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    if done >= 1 { files["small"] = done >= 9 ? bytes(6, 900) : bytes(1, 700) }
    if done >= 2 { files["large"] = bytes(2, 150_000) }
    if done >= 3 { files[done >= 6 ? "e/inner" : "d/inner"] = bytes(3, 5000) }
    if done >= 5 {
      files["large"] = Array(bytes(2, 150_000)[..<100_000]) + bytes(4, 100_000)
    }
    if done == 7 { files["gone"] = bytes(5, 300_000) }
    if done >= 9 { files["replaced"] = bytes(8, 80_000) }
    if done >= 11 { for part in 0..<10 { files["many\(part)"] = bytes(UInt64(90 + part), 30_000) } }
    if done >= 12 { files["last"] = bytes(9, 40_000) }
    return files
  }

  static let names = ["small", "large", "d/inner", "e/inner", "gone", "replaced", "many3", "last"]

  /// What was durable is there, and what the step under way does not touch is as it was.
  static func check(_ directory: String, done: Int, _ context: String) throws {
    let mount = try MountedTree(directory)
    let least = expected(done)
    let most = expected(min(done + 1, steps))
    var shown: [String: [UInt8]?] = [:]
    for name in names {
      let found: [UInt8]?
      do { found = try mount.bytes(name) } catch FSError.noEntry { found = nil } catch {
        Issue.record("\(context): \(name): \(error)")
        found = nil
      }
      shown[name] = found
      if least[name] == most[name] {
        // What the step makes and takes away again may be there for the moment.
        let isPassing = least[name] == nil && (name == "gone" || name == "replaced")
        #expect(found == least[name] || isPassing, "\(context): \(name), \(mount.recovery.losses)")
      } else if let old = least[name], most[name] != nil {
        #expect(found != nil, "\(context): \(name) is gone, \(mount.recovery.losses)")
        #expect((found?.count ?? 0) >= min(old.count, most[name]?.count ?? 0) || name == "small")
      }
    }
    #expect(
      !mount.recovery.losses.contains { $0.contains("the journal") },
      "\(context): \(mount.recovery.losses)")
    let report = try mount.store.verify()
    #expect(report.isSound, "\(context): \(report.damage)")
    try mount.save("after", "after")
    #expect(try mount.cut().unreadable.isEmpty, "\(context)")
    #expect(try mount.head()["after"] == "after", "\(context)")
    for name in names {
      #expect((try? mount.bytes(name)) == shown[name] ?? nil, "\(context): \(name)")
    }
  }

  /// Lives once, and takes an image wherever `isPlace` says so.
  static func live(
    seed: UInt64, at isPlace: @escaping @Sendable (SystemCall, Faults.Phase, Int) -> Bool
  ) throws -> Int {
    DatabaseFaults.install()
    let directory = try TemporaryDirectory(inMemory: true)
    let images = try TemporaryDirectory(inMemory: true)
    do { _ = try MountedTree(directory.path) }
    let done = Atomic<Int>(0)
    let taken = Mutex<[(path: String, done: Int, context: String)]>([])
    let calls = Atomic<Int>(0)
    let disk = try PowerDisk(directory.path) { disk, call, phase in
      let number = calls.wrappingAdd(1, ordering: .relaxed).newValue
      guard isPlace(call, phase, number) else { return }
      let rests: [PowerDisk.Rest] = [.nothing, .everything, .some(seed: seed &+ UInt64(number))]
      for (index, rest) in rests.enumerated() {
        let path = images.file("\(number)-\(index)")
        let context = "\(call) \(phase), call \(number), \(rest)"
        do {
          try disk.image(at: path, rest)
          let count = done.load(ordering: .relaxed)
          taken.withLock { $0.append((path, count, context)) }
        } catch {
          Issue.record("\(context): \(error)")
        }
      }
    }
    let mount = try MountedTree(directory.path)
    for index in 0..<steps {
      try step(index, mount)
      done.store(index + 1, ordering: .relaxed)
    }
    disk.stop()
    let all = taken.withLock { $0 }
    for image in all {
      try PowerDisk.reboot(image.path + "/s")
      do {
        try check(image.path, done: image.done, image.context)
      } catch {
        Issue.record("\(image.context), after step \(image.done): \(error)")
      }
      try FileSystem.removeTree(image.path)
    }
    return all.count
  }

  @Test("the power is cut before and after space is allotted or given back")
  func space() throws {
    let count = try Self.live(seed: 1) { call, _, _ in call == .allocate || call == .punch }
    // The journal is allotted space in large steps, and given back with the files that nothing refers to.
    #expect(count >= 3 * 2, "\(count) images")
  }

  @Test("the power is cut before and after any sync, and at other calls")
  func anywhere() throws {
    let seed = UInt64.random(in: 0..<1 << 32)
    let count = try Self.live(seed: seed) { call, _, number in
      (call == .sync || call == .rename || call == .unlink) && (number &+ Int(seed)) % 8 == 0
        || (number &+ Int(seed)) % 67 == 0
    }
    #expect(count > 40, "seed \(seed)")
  }

  // MARK: Space that cannot be allotted or given back

  /// Lives with some calls failing or ending the process; what a step was not answered for is done again.
  static func live(_ mount: MountedTree, noting: (Int) throws -> Void = { _ in }) throws -> Int {
    var failures = 0
    for index in 0..<steps {
      do {
        try step(index, mount)
      } catch {
        failures += 1
        // A second attempt meets what the first has done of it.
        if index == 2 { try? mount.makeDirectory("d") }
        if index == 2 { try mount.save("d/inner", bytes(3, 5000)) } else { try step(index, mount) }
      }
      try noting(index + 1)
    }
    return failures
  }

  @Test(
    "where space cannot be allotted or given back, that is told or done without, and nothing is lost",
    arguments: [Errno.noSpace, Errno.notSupported, Errno.inputOutput],
    [SystemCall.allocate, .punch])
  func failing(code: Int32, call: SystemCall) throws {
    for nth in 1...8 {
      let directory = try TemporaryDirectory(inMemory: true)
      let token: Faults.Token
      do {
        let mount = try MountedTree(directory.path)
        token = Faults.arm(
          Faults.Plan(
            calls: [call], below: directory.path, nth: nth,
            times: code == Errno.notSupported ? .max : 1, action: .fail(code)))
        defer { Faults.disarm(token) }
        let failures = try Self.live(mount)
        #expect(failures <= 1 && (code != Errno.notSupported || failures == 0), "\(nth)")
        for (name, bytes) in Self.expected(Self.steps) {
          #expect(try mount.bytes(name) == bytes, "\(name), \(nth)")
        }
      }
      try Self.check(directory.path, done: Self.steps, "\(code) at \(call) \(nth)")
    }
  }

  @Test(
    "the process dies before or right after space is allotted or given back",
    arguments: 1...10, [true, false])
  func dying(nth: Int, isAfter: Bool) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path
    await #expect(processExitsWith: .exitCode(137)) {
      [path = path as String, nth = nth as Int, isAfter = isAfter as Bool] in
      let mount = try MountedTree(path)
      let noted = try File(path + "/answered", [.readWrite, .create])
      _ = Faults.arm(
        Faults.Plan(
          calls: [.allocate, .punch], below: path + "/s", nth: nth,
          action: isAfter ? .dieAfter(0) : .die))
      _ = try PowerCutTests.live(mount) { try noted.write([UInt8($0)], at: 0) }
      SystemProcess.exitAtOnce(137)
    }
    let done = Int(try FileSystem.read(path + "/answered", atMost: 8).first ?? 0)
    try FileSystem.unlink(path + "/answered")
    try Self.check(path, done: done, "died at \(nth), after: \(isAfter)")
  }
}
