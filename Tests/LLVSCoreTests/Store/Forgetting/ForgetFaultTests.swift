import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

/// The invariants S12 to S14, with calls that fail, a process that dies, and power that fails.
@Suite(.timeLimit(.minutes(5)))
struct ForgetFaultTests {
  static let key = Value.ID("k")

  static func text(_ index: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(1 + index % 4))
    return random.bytes(30_000 + index * 10)
  }

  /// Six versions of a value; two have the bytes of earlier ones. Next to `kept` bytes that stay, holes are faster
  /// than segments without the forgotten ones.
  static func fill(_ path: String, limit: UInt64 = 550_000, kept: Int = 500_000) throws {
    let store = try Store.open(path: path, create: true)
    store.limitSegments(to: limit)
    var random = SeededRandom(seed: 7)
    var last: Version.ID?
    for index in 0..<6 {
      var changes: [Value.Change] = [.insert(Value(id: key, data: text(index)))]
      if kept > 0, index % 3 == 0 {
        changes.append(.insert(Value(id: Value.ID("kept\(index)"), data: random.bytes(kept))))
      }
      last = try store.makeVersion(basedOnPredecessor: last, storing: changes).id
    }
  }

  static func forget(_ store: Store) throws {
    try store.forget(
      try KeepPolicy("all:1d"), at: SystemClock.now() + 100_000_000_000_000, limit: 2)
  }

  /// Checks that the last version is whole, the others whole or forgotten, and that nothing is damaged.
  static func check(_ path: String, _ note: Comment) throws {
    let store = try Store.open(path: path)
    let head = try #require(try store.mostRecentHead)
    #expect(try store.value(id: key, at: head.id)?.data == text(5), note)
    for (index, id) in try store.allVersionIDs.reversed().enumerated() {
      do throws(StoreError) {
        let data = try store.value(id: key, at: id)?.data
        #expect(data == text(index), note)
      } catch {
        let isForgotten = if case .forgotten = error { true } else { false }
        #expect(isForgotten && index < 5, "\(error), \(note)")
      }
    }
    let report = try store.verify()
    #expect(report.isSound, "\(report.damage), \(note)")
    // The store continues, and forgotten bytes can be stored again.
    try forget(store)
    #expect(try store.forgottenVersions().contains(VersionNumber(5)), note)
    let again = try store.makeVersion(
      basedOnPredecessor: head.id, storing: [.insert(Value(id: Value.ID("again"), data: text(1)))])
    #expect(try store.value(id: Value.ID("again"), at: again.id)?.data == text(1), note)
    #expect(try store.verify().isSound, note)
  }

  @Test(
    "whichever call fails, the store is sound, and the next run does the rest",
    arguments: [Errno.noSpace, Errno.inputOutput])
  func failing(code: Int32) throws {
    DatabaseFaults.install()
    var failures = 0
    for nth in 1... {
      let directory = try TemporaryDirectory()
      let path = directory.file("s")
      try Self.fill(path)
      let seen: Int
      do {
        let store = try Store.open(path: path)
        let token = Faults.arm(
          Faults.Plan(
            calls: [.open, .write, .sync, .punch, .status], below: path,
            sparing: path + "/index.sqlite", nth: nth, times: 1, action: .fail(code)))
        do {
          try Self.forget(store)
        } catch {
          failures += 1
        }
        seen = Faults.disarm(token)
      }
      try Self.check(path, "call \(nth)")
      if seen < nth { break }
    }
    #expect(failures > 8)
  }

  @Test("whichever call the process dies at, nothing is lost", arguments: 1...40)
  func dying(nth: Int) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    try Self.fill(path)
    await #expect(processExitsWith: .exitCode(137)) { [path = path as String, nth = nth as Int] in
      DatabaseFaults.install()
      let store = try Store.open(path: path)
      _ = Faults.arm(
        Faults.Plan(
          calls: [.write, .sync, .punch], below: path, nth: nth, action: .dieAfter(1000 * nth)))
      try ForgetFaultTests.forget(store)
      SystemProcess.exitAtOnce(137)
    }
    try Self.check(path, "call \(nth)")
  }

  @Test("a power failure at any call leaves what was needed", arguments: 1...3)
  func power(seed: UInt64) throws {
    DatabaseFaults.install()
    let directory = try TemporaryDirectory()
    let images = try TemporaryDirectory()
    let path = directory.file("s")
    try Self.fill(path)
    let store = try Store.open(path: path)
    let count = Counter()
    let holes = Counter()
    let disk = try PowerDisk(path) { disk, call, _ in
      guard [.sync, .punch, .write].contains(call) else { return }
      if call == .punch { _ = holes.next() }
      let number = count.next()
      let rest: PowerDisk.Rest =
        seed == 1 ? .nothing : seed == 2 ? .everything : .some(seed: UInt64(number))
      try? disk.image(at: images.file("\(number)"), rest)
    }
    try Self.forget(store)
    disk.stop()
    #expect(count.value > 10 && holes.value > 2)
    for number in 1...count.value {
      // A log without its beginning is as no log.
      try Self.check(images.file("\(number)"), "image \(number)")
    }
  }

  @Test(
    "a file system without holes gets segments again, or keeps the bytes and says so",
    arguments: [true, false])
  func withoutHoles(isRewritten: Bool) throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    try Self.fill(path, limit: isRewritten ? 1_000_000 : 20_000, kept: 0)
    do {
      let store = try Store.open(path: path)
      let token = Faults.arm(
        Faults.Plan(calls: [.punch], below: path, action: .fail(Errno.notSupported)))
      defer { Faults.disarm(token) }
      let report = try store.forget(
        try KeepPolicy("all:1d"), at: SystemClock.now() + 100_000_000_000_000)
      #expect(report.newlyForgotten == 5)
      #expect(report.lacksHoles == !isRewritten)
      #expect(isRewritten ? report.freedBytes > 90_000 : report.freedBytes == 0, "\(report)")
    }
    try Self.check(path, "without holes")
  }
}

final class Counter: @unchecked Sendable {
  // Used under the locks of one thread's calls.
  private(set) var value = 0
  func next() -> Int {
    value += 1
    return value
  }
}
