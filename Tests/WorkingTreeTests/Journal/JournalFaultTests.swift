import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Disks that fail, and disks that are full.
@Suite(.timeLimit(.minutes(5)))
struct JournalFaultTests {
  private let directory = Result { try TemporaryDirectory(inMemory: true) }

  private func path() throws -> String { try directory.get().file("journal") }

  private func failing(
    _ call: SystemCall, _ path: String, nth: Int = 1, times: Int = .max,
    code: Int32 = Errno.inputOutput
  ) -> Faults.Token {
    Faults.arm(
      Faults.Plan(calls: [call], below: path, nth: nth, times: times, action: .fail(code)))
  }

  // MARK: - Failed syncs (J6)

  @Test("After a sync that failed nothing is recorded until what is pending was written anew")
  func failedSync() throws {
    let path = try path()
    let large = [UInt8].random(seed: 1, 200_000)
    for nth in 1...2 {
      let keeper = try JournalKeeper("\(path)-\(nth)")
      try keeper.save("large", large)
      try keeper.save("small", "small")
      let newest = try JournalKeeper.newest(keeper.directory)
      // The staging file is synced first, then the journal file.
      let token = failing(.sync, keeper.directory, nth: nth, times: 1)
      #expect(throws: StoreError.self) { try keeper.journal.sync() }
      Faults.disarm(token)
      #expect(throws: StoreError.self) { try keeper.journal.sync() }
      #expect(throws: StoreError.self) { try keeper.create("refused") }
      #expect(try keeper.bytes("large") == large && keeper.number("refused") == nil)
      let synced = Monitor<Set<String>>([])
      let watch = Faults.watch(below: keeper.directory) { call, phase in
        guard call == .sync, case .after(let place) = phase,
          let path = try? FileSystem.readlink(place)
        else { return }
        synced.withLock { _ = $0.insert(path) }
      }
      #expect(try keeper.renew() == [])
      try keeper.save("later", "later")
      try keeper.journal.sync()
      Faults.unwatch(watch)
      // Nothing is known of a file whose sync failed, so it is never synced again.
      #expect(!synced.withLock { $0.contains(newest) })
      #expect(keeper.reports.withLock { $0.count } == 2)
      try keeper.collect()
      #expect(try !FileSystem.exists(newest))
      for found in [keeper, try JournalKeeper(keeper.directory, boot: "other")] {
        #expect(try found.bytes("large") == large)
        #expect(try found.text("small") == "small" && found.text("later") == "later")
        #expect(found.recovery.losses == [])
      }
    }
  }

  @Test("Bytes that cannot be read back are an error for who reads them, and named")
  func lost() throws {
    let keeper = try JournalKeeper(path())
    let good = [UInt8].random(seed: 1, 200_000)
    try keeper.save("good", good)
    try keeper.save("bad", [UInt8].random(seed: 2, 200_000))
    let stage = try #require(
      try FileSystem.list(keeper.directory).first { $0.hasSuffix(".stage") })
    let token = failing(.sync, keeper.directory, times: 1)
    #expect(throws: StoreError.self) { try keeper.journal.sync() }
    Faults.disarm(token)
    // The kernel lost a page that it could not write.
    try File("\(keeper.directory)/\(stage)", .readWrite)
      .write([UInt8](repeating: 0, count: 4096), at: 270_000)
    let losses = try keeper.renew()
    #expect(losses.count == 1 && losses[0].hasPrefix("bad: "), "\(losses)")
    try keeper.collect()
    #expect(try keeper.bytes("good") == good)
    #expect(throws: StoreError.self) { try keeper.bytes("bad") }
    try keeper.save("bad", "new")
    try keeper.collect()
    #expect(try keeper.text("bad") == "new")
    #expect(try !FileSystem.list(keeper.directory).contains(stage))
    let again = try JournalKeeper(keeper.directory)
    #expect(try again.bytes("good") == good && again.text("bad") == "new")
  }

  @Test("Whichever call of a renewal fails, nothing is lost, and a later one succeeds")
  func failingRenewal() throws {
    let large = [UInt8].random(seed: 1, 100_000)
    for hasFailed in [false, true] {
      var failures = 0
      for nth in 1...40 {
        let path = "\(try path())-\(hasFailed)-\(nth)"
        let keeper = try JournalKeeper(path)
        try keeper.save("large", large)
        try keeper.save("small", "small")
        if hasFailed {
          let token = failing(.sync, path, times: 1)
          #expect(throws: StoreError.self) { try keeper.journal.sync() }
          Faults.disarm(token)
        }
        let token = Faults.arm(
          Faults.Plan(
            calls: [.open, .write, .sync, .rename, .allocate], below: path, nth: nth, times: 1,
            action: .fail(Errno.inputOutput)))
        let isDone = (try? keeper.renew()) != nil
        Faults.disarm(token)
        if !isDone { failures += 1 }
        let copy = "\(path)-copy"
        try JournalKeeper.copy(path, to: copy)
        if keeper.journal.needsRenewal(atRest: false) { try keeper.renew() }
        try keeper.save("later", "later")
        try keeper.journal.sync()
        for found in [keeper, try JournalKeeper(path), try JournalKeeper(copy)] {
          #expect(try found.bytes("large") == large, "call \(nth)")
          #expect(try found.text("small") == "small", "call \(nth)")
          #expect(found.recovery.losses == [])
        }
        #expect(try keeper.text("later") == "later")
        if isDone, failures > 0 { break }
      }
      #expect(failures > 4)
    }
  }

  @Test("A disk that takes nothing is left alone for a while, unless somebody insists")
  func retry() throws {
    let keeper = try JournalKeeper(path())
    try keeper.save("a", "a")
    let token = failing(.sync, keeper.directory)
    #expect(throws: StoreError.self) { try keeper.journal.sync() }
    #expect(throws: StoreError.self) { try keeper.renew(isForced: false) }
    Faults.disarm(token)
    let calls = Faults.arm(
      Faults.Plan(below: keeper.directory, nth: .max, action: .fail(Errno.inputOutput)))
    #expect(throws: StoreError.self) { try keeper.renew(isForced: false) }
    #expect(Faults.disarm(calls) == 0)
    try keeper.renew(isForced: true)
    #expect(try keeper.text("a") == "a")
  }

  // MARK: - Full disks

  @Test("On a full disk saves and removals go on after writes are refused")
  func fullDisk() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    var files: [String] = []
    let token = failing(.allocate, path, code: Errno.noSpace)
    while files.count < 100_000 {
      let name = "\(files.count)" + String(repeating: "n", count: 200)
      do { try keeper.create(name) } catch { break }
      files.append(name)
    }
    #expect(files.count > 1000 && files.count < 100_000)
    #expect(throws: StoreError.self) { try keeper.create("more") }
    for name in files[..<500] { try keeper.unlink(name) }
    let number = try #require(keeper.number(files[600]))
    try keeper.append(.save(number), freeing: true)
    Faults.disarm(token)
    let found = try JournalKeeper(path)
    let isSame = found.overlay == keeper.overlay
    #expect(isSame)
    #expect(found.recovery.losses == [])
    try found.create("more")
  }

  @Test("The reserve file is given up for removals, and made again where there is room")
  func reserve() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    #expect(try FileSystem.exists("\(path)/reserve"))
    let token = failing(.allocate, path, code: Errno.noSpace)
    while (try? keeper.create(String(repeating: "n", count: 250))) != nil {}
    while (try? keeper.append(.release(InodeNumber(1)), freeing: true)) != nil {}
    #expect(try !FileSystem.exists("\(path)/reserve"))
    Faults.disarm(token)
    try keeper.append(.release(InodeNumber(1)), freeing: true)
    try keeper.renew()
    #expect(try FileSystem.exists("\(path)/reserve"))
  }

  @Test("A renewal that finds no room leaves the journal as it was")
  func noRoomToRenew() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    let token = failing(.write, path, code: Errno.noSpace)
    #expect(throws: StoreError.self) { try keeper.renew() }
    Faults.disarm(token)
    #expect(try FileSystem.list(path).filter { $0.contains("journal") }.count == 2)
    try keeper.save("b", "b")
    #expect(try JournalKeeper(path).text("b") == "b")
  }

  @Test("A write of which the bytes found no room leaves nothing that a data file stays for")
  func refusedBytes() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    let number = try keeper.create("a")
    for count in [100, 100_000] {
      let token = failing(.write, path, times: 1, code: Errno.noSpace)
      #expect(throws: StoreError.self) {
        try keeper.write(number, [UInt8].random(seed: 1, count))
      }
      Faults.disarm(token)
    }
    try keeper.write(number, Array("whole".utf8))
    #expect(try keeper.text("a") == "whole")
    try keeper.renew()
    try keeper.renew()
    try keeper.collect()
    #expect(try JournalKeeper(path).text("a") == "whole")
  }
}
