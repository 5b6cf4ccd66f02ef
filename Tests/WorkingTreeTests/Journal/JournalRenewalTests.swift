import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// A kill at every call of a renewal, with writers at work.
@Suite("A kill during a renewal", .timeLimit(.minutes(5)))
struct JournalRenewalTests {
  private let directory = Result { try TemporaryDirectory(inMemory: true) }

  private func path() throws -> String { try directory.get().file("journal") }

  /// A journal as it would be after a kill, and the files that programs had been told were written.
  private struct Kill {
    var call: String
    var copy: String
    var written: [String: [UInt8]]
  }

  /// A program that makes files of all kinds, each time that it is asked for some.
  private final class Writer: Sendable {
    private struct State {
      var round = 0
      var asked = 0
      var isEnded = false
      var written: [String: [UInt8]] = [:]
      var failures: [String] = []
      /// Bytes of which the change comes a round later.
      var waiting: [(name: String, number: InodeNumber, extents: [Extent], bytes: [UInt8])] = []
    }

    private let keeper: JournalKeeper
    private let state = Monitor(State())

    init(_ keeper: JournalKeeper) throws {
      self.keeper = keeper
      try SystemThread.detach(name: "test-writer") { [self] in run() }
    }

    var written: [String: [UInt8]] { state.withLock { $0.written } }
    var failures: [String] { state.withLock { $0.failures } }

    /// Asks for a round and waits for it; not for long, since the thread that asks may hold a lock of the journal.
    func ask() {
      let round = state.withLock { s in
        s.asked = s.round + 1
        return s.asked
      }
      state.broadcast()
      _ = state.wait(nanoseconds: 100_000_000) { $0.round >= round ? true : nil }
    }

    func end() {
      state.withLock { $0.isEnded = true }
      state.broadcast()
    }

    private func run() {
      while true {
        let round = state.wait { s in s.isEnded ? -1 : s.asked > s.round ? s.round + 1 : nil }
        guard let round, round > 0 else { return }
        do { try write(round) } catch { state.withLock { $0.failures.append("\(error)") } }
        state.withLock { $0.round = round }
        state.broadcast()
      }
    }

    private func note(_ name: String, _ bytes: [UInt8]?) {
      state.withLock { $0.written[name] = bytes }
    }

    private func write(_ round: Int) throws {
      for (name, number, extents, bytes) in state.withLock({ $0.waiting }) {
        for extent in extents { try keeper.append(.write(number, extent, [], seen: nil)) }
        note(name, bytes)
      }
      state.withLock { $0.waiting = [] }
      let target = Array("target of \(round)".utf8)
      try keeper.symlink("link\(round)", target)
      note("link\(round)", target)
      for count in [90, 32 << 10, 100_000] {
        let name = "file\(round)-\(count)"
        let bytes = [UInt8].random(seed: UInt64(round * 7 + count), count)
        try keeper.save(name, bytes)
        note(name, bytes)
      }
      try keeper.symlink("old\(round)", target)
      let number = try #require(keeper.number("old\(round)"))
      try keeper.append(
        .rename(
          number, from: JournalKeeper.place("old\(round)"), to: JournalKeeper.place("new\(round)"),
          over: nil, isKept: false, seen: nil))
      note("new\(round)", target)
      for count in [80, 50_000] {
        let name = "later\(round)-\(count)"
        let number = try keeper.create(name)
        let bytes = [UInt8].random(seed: UInt64(round * 11 + count), count)
        let extents = try JournalKeeper.stage(bytes, at: 0, in: keeper.journal)
        state.withLock { $0.waiting.append((name, number, extents, bytes)) }
      }
    }
  }

  private func kills(_ keeper: JournalKeeper, _ writer: Writer) throws -> [Kill] {
    let kills = Monitor<[Kill]>([])
    let failures = Monitor<[String]>([])
    let renewing = SystemThread.current
    let directory = try directory.get()
    let calls = Monitor<[SystemCall: Int]>([:])
    let watch = Faults.watch(below: keeper.directory) { call, phase in
      guard SystemThread.current == renewing, call != .read else { return }
      // Bytes that are copied together take hundreds of equal writes.
      let count = calls.withLock {
        $0[call, default: 0] += 1; return $0[call] ?? 0
      }
      guard count < 8 || count.isMultiple(of: 40) else { return }
      writer.ask()
      let written = writer.written
      let copy = directory.file("copy-\(SystemRandom.hex(6))")
      do {
        try JournalKeeper.copy("/proc/self/root" + keeper.directory, to: copy)
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
      kills.withLock { $0.append(Kill(call: "\(call) \(phase)", copy: copy, written: written)) }
    }
    defer { Faults.unwatch(watch) }
    try keeper.renew()
    #expect(failures.withLock { $0 } == [])
    return kills.withLock { $0 }
  }

  /// Spoils the headers of all journal files but the newest: then the checksums in the newest have to do.
  private func forgetSums(in directory: String) throws {
    let newest = try JournalKeeper.newest(directory)
    for name in try FileSystem.list(directory) where name.hasSuffix(".journal") {
      guard "\(directory)/\(name)" != newest else { continue }
      try File("\(directory)/\(name)", .readWrite).write(
        [UInt8](repeating: 0, count: JournalFileHeader.size), at: 0)
    }
  }

  private func check(_ kill: Kill) throws {
    try forgetSums(in: kill.copy)
    // As it is found, and again after the renewal of the mount.
    for isRenewed in [false, true, true] {
      let found = try JournalKeeper(kill.copy, isRenewed: isRenewed)
      #expect(found.recovery.losses == [], "\(kill.call)")
      let lost = kill.written.filter { (try? found.bytes($0.key)) != $0.value }.keys.sorted()
      #expect(lost == [], "after a kill at \(kill.call)")
    }
  }

  @Test(
    "Whatever the call, all that was answered is found, byte for byte", arguments: [false, true])
  func killed(isCrowded: Bool) throws {
    let keeper = try JournalKeeper(path())
    let writer = try Writer(keeper)
    defer { writer.end() }
    repeat {
      writer.ask()
      if isCrowded { try keeper.renewWithNewStage() }
    } while isCrowded && keeper.journal.files.count < 63
    writer.ask()
    let kills = try kills(keeper, writer)
    #expect(writer.failures == [])
    #expect(kills.count > 8)
    for kill in kills { try check(kill) }
    #expect(kills.last.map { $0.written.count > kills[0].written.count } ?? false)
    try check(Kill(call: "none", copy: keeper.directory, written: writer.written))
  }

  // MARK: - Checksums that are not in the newest file

  /// Writes the newest journal file again, without a checksum.
  private func dropSums(of keeper: JournalKeeper) throws {
    let old = keeper.journal.state.withLock { $0.file }
    var new = try NewJournalFile(
      number: keeper.journal.files.nextNumber(), in: keeper.directory, owner: keeper.journal.owner,
      cut: 0)
    try old.forEachRecord(in: UInt64(JournalFileHeader.size)..<old.end) {
      (record) throws(SystemError) in
      if case .sums = record { return }
      try new.append(record)
    }
    try new.sync()
    try new.flush()
    _ = try new.rename(room: JournalRoom(), files: keeper.journal.files)
  }

  @Test("Bytes whose checksum was lost are read with the one beside them in an older file")
  func found() throws {
    let keeper = try JournalKeeper(path())
    let bytes = [UInt8].random(seed: 1, 32 << 10)
    try keeper.symlink("link", Array("target".utf8))
    try keeper.save("small", bytes)
    try keeper.save("part", bytes)
    try keeper.write(try #require(keeper.number("part")), [1, 2, 3], at: 20_000)
    try keeper.renew()
    try dropSums(of: keeper)
    var part = bytes
    part.replaceSubrange(20_000..<20_003, with: [1, 2, 3])
    for isRenewed in [false, true, true] {
      let found = try JournalKeeper(keeper.directory, isRenewed: isRenewed)
      #expect(try found.text("link") == "target")
      #expect(try found.bytes("small") == bytes)
      #expect(try found.bytes("part") == part)
      #expect(found.recovery.losses == [])
    }
  }

  @Test("Bytes without any checksum are an error for who reads them, and are named and kept")
  func notFound() throws {
    let keeper = try JournalKeeper(path())
    let bytes = [UInt8].random(seed: 1, 1 << 20)
    try keeper.save("staged", bytes)
    try keeper.symlink("link", Array("target".utf8))
    try keeper.renewWithNewStage()
    try dropSums(of: keeper)
    try forgetSums(in: keeper.directory)
    let found = try JournalKeeper(keeper.directory, isRenewed: false)
    #expect(try found.renew() == ["link", "staged"].map { Journal.unreadable($0) })
    #expect(try found.renew() == [])
    for name in ["link", "staged"] { #expect(throws: StoreError.self) { try found.bytes(name) } }
    let stage = try #require(
      try FileSystem.list(keeper.directory).first { $0.hasSuffix(".stage") })
    _ = try found.journal.punch(ifMoreThan: 0) { LiveBytes(of: found.overlay) }
    #expect(
      try FileSystem.read("\(keeper.directory)/\(stage)", atMost: 2 << 20) == bytes)
  }
}
