import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Segments that are rewritten without forgotten records (S15).
@Suite(.timeLimit(.minutes(5)))
struct RewritingTests {
  static let segment = "segments/00000001.seg"

  static func text(_ index: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(index + 1))
    return random.bytes(2000 + index % 7 * 100)
  }

  static func key(_ index: Int) -> Value.ID { Value.ID("f\(index / 2 % 10)") }

  /// Two versions of a small text each time; the first of them has bytes that no other version has.
  @discardableResult
  static func fill(_ store: Store, from first: Int = 0, count: Int) throws -> [Version.ID] {
    var last = try store.mostRecentHead?.id
    return try (first..<(first + count)).map { index in
      let id = try store.makeVersion(
        basedOnPredecessor: last, storing: [.insert(Value(id: key(index), data: text(index)))]
      ).id
      last = id
      return id
    }
  }

  /// Forgets the first version of each two.
  @discardableResult
  static func forgetHalf(_ store: Store, isTrial: Bool = false) throws -> ForgetReport {
    let last = try store.state().lastNumber
    let kept = Set((1...last).filter { $0 % 2 == 0 }.map { VersionNumber($0) })
    return try store.forget(
      try ForgetTests.least(), at: ForgetTests.later(), isTrial: isTrial,
      besides: { OutsideRoots(versions: kept) })
  }

  static func allocated(_ path: String) throws -> UInt64 {
    try FileSystem.list("\(path)/segments").reduce(0) {
      $0 + (try FileSystem.status("\(path)/segments/\($1)").allocated)
    }
  }

  /// Checks that kept versions are whole and the others forgotten, or whole if `mayBeWhole`.
  static func check(
    _ store: Store, _ ids: [Version.ID], mayBeWhole: Bool = false, _ note: Comment? = nil
  ) throws {
    for (index, id) in ids.enumerated() {
      let found = try ForgetTests.read(key(index), at: id, in: store)
      let isWhole = found == .bytes(text(index))
      if index % 2 == 0 {
        #expect(found == .forgotten || mayBeWhole && isWhole, note)
      } else {
        #expect(isWhole, note)
      }
    }
    let report = try store.verify()
    #expect(report.isSound, "\(report.damage) \(note ?? "")")
  }

  static func isRewritten(_ path: String) throws -> Bool {
    try File("\(path)/\(segment)", .read).read(8, at: 0).last == SegmentFormat.rewritten
  }

  @Test("most bytes of many small texts come free, and a trial says how many")
  func small() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let ids: [Version.ID]
    do {
      let store = try Store.open(path: path, create: true)
      ids = try Self.fill(store, count: 400)
      let trial = try Self.forgetHalf(store, isTrial: true)
      let before = try Self.allocated(path)
      let report = try Self.forgetHalf(store)
      #expect(report.newlyForgotten == 200)
      #expect(report.freedBytes > report.goneBytes / 10 * 9, "\(report)")
      // The room behind the last record goes, too.
      let freed = try before - Self.allocated(path)
      #expect((report.freedBytes...(report.freedBytes + 270_000)).contains(freed), "\(freed)")
      let estimate = Int64(trial.freeableBytes)
      #expect(abs(estimate - Int64(report.freedBytes)) < 20_000, "\(trial) \(report)")
      #expect(try Self.isRewritten(path))
      try Self.check(store, ids)
      #expect(try Self.forgetHalf(store).freedBytes == 0)
    }
    let store = try Store.open(path: path)
    try Self.check(store, ids)
    let reader = try Store.open(path: path, mode: .reader)
    try Self.check(reader, ids)
  }

  @Test(
    "large forgotten values go with their segment if it is short, else they become holes",
    arguments: [false, true])
  func large(isLong: Bool) throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let store = try Store.open(path: path, create: true)
    var last: Version.ID?
    var random = SeededRandom(seed: 9)
    for _ in 0..<10 {
      for size in [100_000, isLong ? 400_000 : 100_000] {
        last = try store.makeVersion(
          basedOnPredecessor: last,
          storing: [.insert(Value(id: Value.ID("large"), data: random.bytes(size)))]
        ).id
      }
    }
    let report = try Self.forgetHalf(store)
    #expect(report.freedBytes >= 950_000)
    #expect(try Self.isRewritten(path) != isLong)
    #expect(try store.verify().isSound)
  }

  @Test("a rewritten segment is rewritten again, and its large values become holes")
  func again() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let store = try Store.open(path: path, create: true)
    let large = Value.ID("large")
    var random = SeededRandom(seed: 5)
    let first = try store.makeVersion(
      basedOnPredecessor: nil, storing: [.insert(Value(id: large, data: random.bytes(60_000)))])
    try store.makeVersion(
      basedOnPredecessor: first.id, storing: [.insert(Value(id: large, data: random.bytes(9000)))])
    let ids = try Self.fill(store, count: 400)
    let reader = try Store.open(path: path, mode: .reader)
    try Self.check(reader, ids, mayBeWhole: true)
    try Self.forgetHalf(store)
    // A reader that has the old file open reads on.
    try Self.check(reader, ids, mayBeWhole: true)
    let middle = try Self.allocated(path)
    let report = try store.forget(try ForgetTests.least(), at: ForgetTests.later())
    #expect(report.freedBytes > 200_000 && report.newlyForgotten > 190)
    #expect(try middle - Self.allocated(path) == report.freedBytes)
    #expect(try store.value(id: large, at: ids[399])?.data.count == 9000)
    #expect(try store.value(id: Self.key(399), at: ids[399])?.data == Self.text(399))
    #expect(try ForgetTests.read(Self.key(399), at: ids[397], in: store) == .forgotten)
    #expect(try store.verify().isSound)
    let next = try Self.fill(store, from: 400, count: 2)
    #expect(try store.value(id: Self.key(401), at: next[1])?.data == Self.text(401))
  }

  @Test("a copy of a store with rewritten segments has the records in their first places")
  func backup() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let ids = try Self.fill(store, count: 400)
    let old = directory.file("old")
    try store.backup(to: old)
    try Self.forgetHalf(store)
    for (target, isOld) in [(old, true), (directory.file("new"), false)] {
      let written = try store.backup(to: target)
      #expect(isOld ? written == 0 : written > 300_000, "\(written)")
      #expect(try !Self.isRewritten(target))
      let copy = try Store.open(path: target, mode: .reader)
      // Bytes that share a block with others stay in the first copy.
      try Self.check(copy, ids, mayBeWhole: isOld)
      #expect(try store.backup(to: target) == 0)
    }
    // A copy in use is compacted by itself.
    let copy = try Store.open(path: directory.file("new"))
    _ = try copy.forget(try ForgetTests.least(), at: ForgetTests.later())
    #expect(try copy.verify().isSound)
  }

  @Test("a damaged record of a rewritten segment is repaired in its place")
  func repair() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let ids: [Version.ID]
    do {
      let store = try Store.open(path: path, create: true)
      ids = try Self.fill(store, count: 400)
      try Self.forgetHalf(store)
    }
    let bytes = try FileSystem.read("\(path)/\(Self.segment)", atMost: 1 << 26)
    let start = try #require(bytes.firstRange(of: Self.text(201))).lowerBound
    try File("\(path)/\(Self.segment)", .readWrite).write([0xFF, 0xFF], at: UInt64(start + 500))
    let store = try Store.open(path: path)
    #expect(throws: StoreError.self) { try store.value(id: Self.key(201), at: ids[201]) }
    try store.makeVersion(
      basedOnPredecessor: ids[399],
      storing: [.insert(Value(id: Value.ID("again"), data: Self.text(201)))])
    try Self.check(store, ids)
  }

  @Test("a damaged table is damage, and never a forgotten version")
  func table() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    do {
      let store = try Store.open(path: path, create: true)
      try Self.fill(store, count: 400)
      try Self.forgetHalf(store)
    }
    let file = try File("\(path)/\(Self.segment)", .readWrite)
    let whole = try file.read(4000, at: 0)
    for offset in stride(from: SegmentFormat.headerSize, to: whole.count, by: 97) {
      try file.write([whole[offset] ^ 0x10], at: UInt64(offset))
      let report = try Store.open(path: path, mode: .reader).verify()
      #expect(!report.isSound, "\(offset)")
      try file.write([whole[offset]], at: UInt64(offset))
    }
    #expect(try Store.open(path: path, mode: .reader).verify().isSound)
  }

  // MARK: - Faults

  static let faultCount = 64

  static func filled(_ path: String) throws {
    try fill(try Store.open(path: path, create: true), count: faultCount)
  }

  private static func checkAfterFault(_ path: String, _ note: Comment) throws {
    let ids: [Version.ID]
    do {
      let store = try Store.open(path: path)
      ids = try store.allVersionIDs.reversed()
      try check(store, ids, mayBeWhole: true, note)
      #expect(try !FileSystem.list("\(path)/segments").contains { $0.hasSuffix(".part") }, note)
      // The next run does the rest.
      try forgetHalf(store)
      #expect(try isRewritten(path), note)
    }
    // Memory of the other has what was read before.
    try check(try Store.open(path: path), ids, note)
  }

  @Test(
    "whichever call fails, the store is sound, and the next run rewrites the segment",
    arguments: [Errno.noSpace, Errno.inputOutput])
  func failing(code: Int32) throws {
    DatabaseFaults.install()
    for nth in 1... {
      let directory = try TemporaryDirectory()
      let path = directory.file("s")
      try Self.filled(path)
      let seen: Int
      do {
        let store = try Store.open(path: path)
        let token = Faults.arm(
          Faults.Plan(
            calls: [.open, .write, .sync, .rename, .unlink, .status], below: path + "/segments",
            nth: nth, times: 1, action: .fail(code)))
        _ = try? Self.forgetHalf(store)
        seen = Faults.disarm(token)
        // The open store still works.
        try Self.check(
          store, try store.allVersionIDs.reversed(), mayBeWhole: true, "call \(nth), in use")
      }
      try Self.checkAfterFault(path, "call \(nth)")
      if seen < nth { break }
      #expect(nth < 200)
    }
  }

  @Test("whichever call the process dies at, nothing is lost", arguments: 1...16)
  func dying(nth: Int) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    try Self.filled(path)
    await #expect(processExitsWith: .exitCode(137)) { [path = path as String, nth = nth as Int] in
      DatabaseFaults.install()
      let store = try Store.open(path: path)
      _ = Faults.arm(
        Faults.Plan(
          calls: [.write, .sync, .rename], below: path, nth: nth, action: .dieAfter(1000 * nth)))
      try RewritingTests.forgetHalf(store)
      SystemProcess.exitAtOnce(137)
    }
    try Self.checkAfterFault(path, "call \(nth)")
  }

  @Test("a power failure at any call leaves what was needed", arguments: 1...3)
  func power(seed: UInt64) throws {
    DatabaseFaults.install()
    let directory = try TemporaryDirectory()
    let images = try TemporaryDirectory()
    let path = directory.file("s")
    try Self.filled(path)
    let store = try Store.open(path: path)
    let count = Counter()
    let disk = try PowerDisk(path) { disk, call, _ in
      guard [.sync, .punch, .write, .rename, .unlink].contains(call) else { return }
      let number = count.next()
      let rest: PowerDisk.Rest =
        seed == 1 ? .nothing : seed == 2 ? .everything : .some(seed: seed << 32 | UInt64(number))
      try? disk.image(at: images.file("\(number)"), rest)
    }
    try Self.forgetHalf(store)
    disk.stop()
    #expect(try Self.isRewritten(path))
    #expect(count.value > 10)
    for number in 1...count.value {
      try Self.checkAfterFault(images.file("\(number)"), "image \(number)")
    }
  }
}
