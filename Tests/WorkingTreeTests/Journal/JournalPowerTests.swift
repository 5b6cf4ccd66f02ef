import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// What a power failure and a kill leave, and a sync that fails.
@Suite(.timeLimit(.minutes(5)))
struct JournalPowerTests {
  private let directory = Result { try TemporaryDirectory(inMemory: true) }

  private func path() throws -> String { try directory.get().file("journal") }

  /// The text of file `index`; every third is long enough for a staging file.
  private static func text(_ index: Int) -> String {
    let text = "text \(index) "
    return index % 3 == 2 ? String(repeating: text, count: 5000) : text
  }

  // MARK: - Torn and damaged files

  @Test(
    "A journal that is cut off at any byte of its last records gives what was whole, and goes on")
  func torn() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    let start = keeper.journal.state.withLock { $0.file.end }
    try keeper.save("b", "b")
    try keeper.append(
      .rename(
        try #require(keeper.number("a")), from: JournalKeeper.place("a"),
        to: JournalKeeper.place("c"), over: nil, isKept: false, seen: nil))
    let end = keeper.journal.state.withLock { $0.file.end }
    let bytes = try FileSystem.read(try JournalKeeper.newest(path), atMost: 1 << 20)
    for cut in Int(start)...Int(end) {
      for (zeros, boot) in [(0, "boot"), (700, "boot"), (0, "other"), (700, "other")] {
        let copy = try directory.get().file("copy-\(cut)-\(zeros)-\(boot)")
        try JournalKeeper.copy(path, to: copy)
        try File(try JournalKeeper.newest(copy), [.readWrite, .truncate])
          .write(Array(bytes[..<cut]) + [UInt8](repeating: 0, count: zeros), at: 0)
        let found = try JournalKeeper(copy, boot: boot)
        #expect(found.recovery.losses == [], "cut at \(cut)")
        // The zeros may be just what was cut off.
        let isRenamed =
          cut == Int(end) || zeros > 0 && bytes[cut..<Int(end)].allSatisfy { $0 == 0 }
        #expect(try found.text(isRenamed ? "c" : "a") == "a", "cut at \(cut)")
        let other = try found.text("b")
        #expect(other == nil || other == "" || other == "b")
        try found.save("later", "later")
        #expect(try JournalKeeper(copy, boot: boot).text("later") == "later")
        try FileSystem.removeTree(copy)
      }
    }
  }

  @Test(
    "Damage before what is on the disk is named, what is behind it is not applied, and the file is kept"
  )
  func damaged() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    let start = keeper.journal.state.withLock { $0.file.end }
    try keeper.save("b", "b")
    try keeper.journal.sync()
    let end = keeper.journal.state.withLock { $0.file.end }
    try keeper.save("c", "c")
    let bytes = try FileSystem.read(try JournalKeeper.newest(path), atMost: 1 << 20)
    var names = 0
    for at in stride(from: start, to: end - 40, by: 7) {
      for boot in ["boot", "other"] {
        let copy = try directory.get().file("copy-\(at)-\(boot)")
        try JournalKeeper.copy(path, to: copy)
        var damaged = bytes
        damaged[Int(at)] ^= 0x10
        let newest = try JournalKeeper.newest(copy)
        try File(newest, [.readWrite, .truncate]).write(damaged, at: 0)
        let found = try JournalKeeper(copy, boot: boot)
        #expect(try found.text("a") == "a")
        // Bytes of a file may be damaged without a record being so: then who reads them is told.
        if found.number("c") != nil {
          #expect(found.recovery.losses == [])
          #expect(throws: StoreError.self) { try found.text("b") }
        } else {
          names += 1
          #expect(found.recovery.losses.count == 1, "\(found.recovery.losses)")
          #expect(found.recovery.losses.first?.contains("damaged-1") == true)
          let name = try #require(newest.split(separator: "/").last)
          #expect(
            try FileSystem.read("\(copy).damaged-1/\(name)", atMost: 1 << 20) == damaged)
        }
        try found.save("later", "later")
        #expect(try JournalKeeper(copy, boot: boot).recovery.losses == [])
      }
    }
    #expect(names > 10)
  }

  @Test(
    "A header of which one copy is damaged is read; without both the journal is put aside and named"
  )
  func header() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    let whole = try FileSystem.read(try JournalKeeper.newest(path), atMost: 1 << 20)
    for at in [0, 9, 13, 21, 40, 512, 540] {
      let copy = try directory.get().file("copy-\(at)")
      try JournalKeeper.copy(path, to: copy)
      var bytes = whole
      bytes[at] ^= 1
      try File(try JournalKeeper.newest(copy), [.readWrite]).write(bytes, at: 0)
      let found = try JournalKeeper(copy)
      #expect(found.recovery.losses.count == 1)
      #expect(try found.text("a") == "a")
      #expect(try JournalKeeper(copy).recovery.losses == [])
    }
    for bytes in [[], [UInt8](repeating: 0, count: whole.count)] {
      let copy = try directory.get().file("none-\(bytes.count)")
      try JournalKeeper.copy(path, to: copy)
      try File(try JournalKeeper.newest(copy), [.readWrite, .truncate]).write(bytes, at: 0)
      let found = try JournalKeeper(copy)
      #expect(found.recovery.losses.first?.contains("\(copy).damaged-1") == true)
      #expect(try found.text("a") == nil)
      try found.save("later", "later")
      #expect(try JournalKeeper(copy).text("later") == "later")
    }
  }

  @Test(
    "A journal of another store or of a later program is refused and left alone")
  func refused() throws {
    let path = try path()
    do { try JournalKeeper(path).save("a", "a") }
    let newest = try JournalKeeper.newest(path)
    let whole = try FileSystem.read(newest, atMost: 1 << 20)
    #expect(throws: StoreError.self) { try JournalKeeper(path, store: Array("other".utf8)) }
    var future = whole
    for start in [0, 512] { future[start + 11] = UInt8(JournalFileHeader.format + 1) }
    try File(newest, [.readWrite, .truncate]).write(future, at: 0)
    #expect(throws: StoreError.self) { try JournalKeeper(path) }
    #expect(try FileSystem.read(newest, atMost: 1 << 20) == future)
    try File(newest, [.readWrite, .truncate]).write(whole, at: 0)
    #expect(try JournalKeeper(path).text("a") == "a")
  }

  @Test("A staging file that is missing is named, and takes only what needs it")
  func missingStage() throws {
    let path = try path()
    do {
      let keeper = try JournalKeeper(path)
      try keeper.save("small", "small")
      try keeper.save("large", [UInt8].random(seed: 1, 200_000))
      try keeper.save("both", "before")
      let number = try #require(keeper.number("both"))
      try keeper.write(number, [UInt8].random(seed: 2, 100_000))
    }
    for name in try FileSystem.list(path) where name.hasSuffix(".stage") {
      try FileSystem.unlink("\(path)/\(name)")
    }
    let keeper = try JournalKeeper(path)
    #expect(keeper.recovery.losses.count == 2, "\(keeper.recovery.losses)")
    #expect(try keeper.text("small") == "small")
    #expect(try keeper.text("both") == "before")
    #expect(keeper.number("large") == nil)
  }

  // MARK: - Power

  @Test(
    "Whatever call the power fails at, what was synced is there whole, and nothing that nobody wrote (I8, J3)",
    arguments: 0..<6 as Range<UInt64>)
  func power(seed: UInt64) throws {
    let path = try path()
    try FileSystem.makeDirectory(path)
    let synced = Monitor(0)
    let images = Monitor<[(path: String, synced: Int)]>([])
    let random = Monitor(SeededRandom(seed: seed))
    let place = try directory.get().path
    let disk = try PowerDisk(path) { disk, call, _ in
      guard call != .read, call != .status, random.withLock({ $0.chance(0.15) }) else { return }
      let count = images.withLock { $0.count }
      let rest: PowerDisk.Rest =
        count % 3 == 0 ? .nothing : .some(seed: random.withLock { $0.next() })
      let image = "\(place)/image-\(count)"
      let isSynced = synced.withLock { $0 }
      guard (try? disk.image(at: image, rest)) != nil else { return }
      images.withLock { $0.append((image, isSynced)) }
    }
    let keeper = try JournalKeeper(path)
    for index in 0..<24 {
      try keeper.save("f\(index)", Self.text(index))
      if index % 4 == 3 {
        try keeper.journal.sync()
        synced.withLock { $0 = index + 1 }
      }
      if index % 9 == 8 {
        try keeper.renew()
        synced.withLock { $0 = index + 1 }
        try keeper.collect()
      }
    }
    disk.stop()
    let all = images.withLock { $0 }
    #expect(all.count > 20)
    for image in all {
      let found = try JournalKeeper(image.path, boot: "other")
      for index in 0..<24 {
        let text = try found.text("f\(index)")
        if index < image.synced {
          #expect(text == Self.text(index), "f\(index) of \(image)")
        } else {
          #expect(text == nil || text == "" || text == Self.text(index), "f\(index) of \(image)")
        }
      }
      #expect(!found.recovery.losses.contains { $0.contains("damaged") }, "\(found.recovery)")
    }
  }

  @Test("What is written while the journal is begun anew is on the disk after the next sync (I8)")
  func writtenInRenewal() throws {
    let path = try path()
    try FileSystem.makeDirectory(path)
    let keepers = Monitor<[JournalKeeper]>([])
    let failures = Monitor<[String]>([])
    let disk = try PowerDisk(path) { _, call, phase in
      // Between the sync of the old files and the first record in the new one.
      guard call == .sync, case .after(let place) = phase,
        (try? FileSystem.readlink(place))?.hasSuffix(".tmp") ?? place.hasSuffix(".tmp"),
        let keeper = keepers.withLock({ $0.popLast() })
      else { return }
      do {
        try keeper.save("late", Self.text(0))
        try keeper.save("large", Self.text(2))
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    keepers.withLock { $0 = [keeper] }
    try keeper.renew()
    #expect(keepers.withLock { $0.isEmpty } && failures.withLock { $0 } == [])
    try keeper.journal.sync()
    let image = try directory.get().file("image")
    try disk.image(at: image, .nothing)
    disk.stop()
    let found = try JournalKeeper(image, boot: "other")
    #expect(found.recovery.losses == [])
    #expect(try found.text("late") == Self.text(0) && found.text("large") == Self.text(2))
  }

  @Test("Whatever call the process is killed at, all that was answered is there", arguments: 0..<4)
  func dying(lane: Int) async throws {
    for nth in stride(from: lane + 1, to: 500, by: 4) {
      let directory = try TemporaryDirectory(inMemory: true)
      let path = directory.path
      await #expect(processExitsWith: .exitCode(137)) {
        [path = path as String, nth = nth as Int] in
        let answered = try File(path + "/answered", [.readWrite, .create])
        _ = Faults.arm(
          Faults.Plan(
            calls: [.open, .write, .sync, .rename, .unlink, .allocate], below: path + "/journal",
            nth: nth, action: .dieAfter(40)))
        let keeper = try JournalKeeper(path + "/journal")
        for index in 0..<12 {
          try keeper.save("f\(index)", JournalPowerTests.text(index))
          try answered.write([UInt8(index + 1)], at: 0)
          if index % 4 == 3 { try keeper.journal.sync() }
          if index == 7 {
            try keeper.renew()
            try keeper.collect()
          }
        }
        SystemProcess.exitAtOnce(137)
      }
      let answered = Int(try FileSystem.read(path + "/answered", atMost: 8).first ?? 0)
      let found = try JournalKeeper(path + "/journal")
      #expect(found.recovery.losses == [], "died at \(nth)")
      for index in 0..<12 {
        let text = try found.text("f\(index)")
        #expect(
          text == Self.text(index) || index >= answered && (text == nil || text == ""),
          "f\(index), died at \(nth)")
      }
      if answered == 12 { return }
    }
    Issue.record("the life has more calls than are tried")
  }
}

extension SeededRandom {
  fileprivate mutating func chance(_ part: Double) -> Bool {
    Double(next() >> 11) / Double(1 << 53) < part
  }
}
