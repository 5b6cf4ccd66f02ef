import Dispatch
import Inodes
import LLVSCore
import Platform
import Synchronization
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Data files: when they stay, go, are gathered and are punched (I9, J5), and copies of them all.
@Suite(.timeLimit(.minutes(5)))
struct JournalSpaceTests {
  private let directory = Result { try TemporaryDirectory(inMemory: true) }

  private func path() throws -> String { try directory.get().file("journal") }

  @Test("A data file goes when nothing refers to it, and not while a frozen view does (I9)")
  func collected() throws {
    let keeper = try JournalKeeper(path())
    let large = [UInt8].random(seed: 1, 100_000)
    try keeper.collect()
    try keeper.save("a", large)
    try keeper.save("b", "inline")
    let frozen = keeper.overlay
    let files = try FileSystem.list(keeper.directory).filter { $0 != "reserve" }
    #expect(files.count == 2)
    // Others are begun, so that these take no more bytes.
    try keeper.renewWithNewStage()
    try keeper.save("a", "a")
    try keeper.save("b", "b")
    try keeper.journal.collect {
      var live = LiveBytes(of: keeper.overlay)
      live.add(LiveBytes(of: frozen))
      return live
    }
    #expect(try Set(files).isSubset(of: FileSystem.list(keeper.directory)))
    for case .some(let node) in [keeper.number("a"), keeper.number("b")].map({ number in
      number.flatMap { frozen.nodes[$0] }
    }) {
      var extents: [Extent] = []
      node.file?.content.extents.forEach { extents.append($0) }
      #expect(!extents.isEmpty)
      for extent in extents { _ = try JournalKeeper.read(extent, from: keeper.journal) }
    }
    try keeper.collect()
    #expect(try Set(files).isDisjoint(with: FileSystem.list(keeper.directory)))
    #expect(try keeper.text("a") == "a" && keeper.text("b") == "b")
  }

  @Test("The next journal gives no number of a data file that is gone (I9)")
  func numbers() throws {
    let keeper = try JournalKeeper(path())
    try keeper.save("a", [UInt8].random(seed: 1, 2_000_000))
    try keeper.save("a", "a")
    try keeper.collect()
    #expect(try !FileSystem.list(keeper.directory).contains { $0.hasSuffix(".stage") })
    let next = try JournalKeeper(copied(keeper))
    try next.save("b", "inline")
    #expect(try next.text("b") == "inline" && next.text("a") == "a")
  }

  @Test("A collection next to renewals leaves the file that takes the records (I9)")
  func collectedNextToRenewals() throws {
    let keeper = try JournalKeeper(path())
    let isOver = Mutex(false)
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 3) { lane in
      do {
        while lane > 0, !isOver.withLock({ $0 }) { try keeper.collect() }
        guard lane == 0 else { return }
        defer { isOver.withLock { $0 = true } }
        for index in 0..<400 {
          try keeper.renew()
          try keeper.save("a", "\(index)")
          let found = try keeper.text("a")
          if found != "\(index)" { failures.withLock { $0.append("\(index) is not there") } }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try JournalKeeper(copied(keeper)).text("a") == "399")
  }

  @Test("Bytes that a new file begins with keep no data file once they are gone (I9)")
  func createdWithBytes() throws {
    let keeper = try JournalKeeper(path())
    let place = JournalKeeper.place("link")
    for count in [10, 100_000] {
      var content = FileContent()
      let bytes = [UInt8].random(seed: 1, count)
      for extent in try JournalKeeper.stage(bytes, at: 0, in: keeper.journal) {
        content.write(extent)
      }
      let number = InodeNumber(UInt64(1000 + count))
      try keeper.append(
        .create(
          number, at: place, kind: .symlink, attributes: Attributes(), content: content,
          isSaved: true, seen: nil))
      #expect(try JournalKeeper(copied(keeper)).bytes("link") == bytes)
      try keeper.append(.unlink(place, of: number, isKept: false))
    }
    let files = try FileSystem.list(keeper.directory).filter { $0 != "reserve" }
    try keeper.renewWithNewStage()
    try keeper.collect()
    #expect(try Set(files).isDisjoint(with: FileSystem.list(keeper.directory)))
  }

  /// A copy of a journal's directory.
  private func copied(_ keeper: JournalKeeper) throws -> String {
    let copy = try directory.get().file("copy-\(SystemRandom.hex(4))")
    try JournalKeeper.copy(keeper.directory, to: copy)
    return copy
  }

  @Test("Bytes that the newest version has stay while a later one may read them again (I9)")
  func taken() throws {
    let keeper = try JournalKeeper(path())
    for (name, count) in [("small", 100), ("large", 100_000)] {
      let bytes = [UInt8].random(seed: 1, count)
      try keeper.save(name, bytes)
      let number = try #require(keeper.number(name))
      let content = try #require(keeper.overlay.nodes[number]?.file?.content)
      var after = keeper.overlay
      after.nodes[number]?.file?.taken = content
      let edits = OverlayEdits(from: keeper.overlay, to: after)
      keeper.journal.settle(1, isCommitted: true, epochs: [:], edits)
      keeper.state.withLock { $0.overlay.apply(edits) }
      try keeper.save(name, "newer")
      try keeper.renewWithNewStage()
      try keeper.save(name, "newest")
      try keeper.renewWithNewStage()
      try keeper.collect()
      for found in [keeper, try JournalKeeper(keeper.directory, lastCut: 1)] {
        let taken = try #require(found.overlay.nodes[number]?.file?.taken)
        var extents: [Extent] = []
        taken.extents.forEach { extents.append($0) }
        #expect(!extents.isEmpty)
        for extent in extents {
          let part = bytes[Int(extent.start)..<Int(extent.end)]
          #expect(try JournalKeeper.read(extent, from: found.journal) == Array(part))
        }
      }
    }
  }

  @Test("Bytes that no record names yet keep their file, until they are recorded or abandoned")
  func unrecorded() throws {
    for count in [100, 100_000] {
      let keeper = try JournalKeeper("\(path())-\(count)")
      let number = try keeper.create("a")
      let bytes = [UInt8].random(seed: 1, count)
      let extents = try JournalKeeper.stage(bytes, at: 0, in: keeper.journal)
      try keeper.renewWithNewStage()
      try keeper.collect()
      for extent in extents { try keeper.append(.write(number, extent, [], seen: nil)) }
      try keeper.renewWithNewStage()
      try keeper.collect()
      #expect(try keeper.bytes("a") == bytes)
      #expect(try JournalKeeper(keeper.directory).bytes("a") == bytes)
      let more = try JournalKeeper.stage(bytes, at: 0, in: keeper.journal)
      let file = more.map { $0.source }
      more.forEach(keeper.journal.abandon)
      try keeper.renewWithNewStage()
      try keeper.collect()
      #expect(keeper.journal.files.file(file[0]) == nil)
    }
  }

  @Test("Bytes that are staged before a renewal and recorded after it are checked after a mount")
  func acrossRenewal() throws {
    let keeper = try JournalKeeper(path())
    let number = try keeper.create("a")
    let bytes = [UInt8].random(seed: 1, 1000)
    let extents = try JournalKeeper.stage(bytes, at: 0, in: keeper.journal)
    try keeper.renew()
    for extent in extents { try keeper.append(.write(number, extent, [], seen: nil)) }
    let found = try JournalKeeper(keeper.directory)
    #expect(try found.bytes("a") == bytes)
  }

  @Test("When there are many data files the live bytes of small ones are copied together (J5)")
  func gathered() throws {
    let keeper = try JournalKeeper(path())
    for index in 0..<80 {
      try keeper.save("f\(index)", "text \(index)")
      try keeper.renew()
      try keeper.collect()
      #expect(keeper.journal.files.count <= 65)
    }
    #expect(keeper.journal.files.count < 64)
    for found in [keeper, try JournalKeeper(keeper.directory, boot: "other")] {
      #expect(found.recovery.losses == [])
      for index in 0..<80 { #expect(try found.text("f\(index)") == "text \(index)") }
    }
  }

  @Test("Holes give back what is dead in a data file, and the rest can be read")
  func punched() throws {
    let keeper = try JournalKeeper(path())
    let bytes = [UInt8].random(seed: 1, 1 << 20)
    let number = try keeper.create("a")
    try keeper.write(number, bytes)
    try keeper.append(.punch(number, 100_000..<900_000, [], seen: nil))
    try keeper.renewWithNewStage()
    var expected = bytes
    expected.replaceSubrange(
      100_000..<900_000, with: [UInt8](repeating: 0, count: 800_000))
    let holes = Monitor(0)
    let watch = Faults.watch(below: keeper.directory) { call, phase in
      if call == .punch, case .after = phase { holes.withLock { $0 += 1 } }
    }
    #expect(try keeper.journal.punch(ifMoreThan: 0) { LiveBytes(of: keeper.overlay) })
    Faults.unwatch(watch)
    #expect(holes.withLock { $0 } > 0)
    for found in [keeper, try JournalKeeper(keeper.directory)] {
      #expect(try found.bytes("a") == expected)
    }
  }

  @Test("A copy is the journal as it was at one time")
  func copied() throws {
    let keeper = try JournalKeeper(path())
    for index in 0..<10 {
      try keeper.save("f\(index)", [UInt8].random(seed: UInt64(index), 30_000 + 1000 * index))
    }
    let target = try directory.get().file("copy")
    #expect(try Journal.copy(keeper.directory, to: target))
    try keeper.save("later", [UInt8].random(seed: 20, 50_000))
    let found = try JournalKeeper(target, boot: "other")
    #expect(found.recovery.losses == [] && found.number("later") == nil)
    for index in 0..<10 {
      #expect(
        try found.bytes("f\(index)")
          == [UInt8].random(seed: UInt64(index), 30_000 + 1000 * index))
    }
  }

  @Test("Programs write, save and sync while the journal is begun anew and files are collected")
  func concurrent() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    let failures = Monitor<[String]>([])
    let ended = Monitor(0)
    for lane in 0..<4 {
      try SystemThread.detach(name: "test-\(lane)") {
        defer {
          ended.withLock { $0 += 1 }
          ended.broadcast()
        }
        do {
          for index in 0..<60 {
            let name = "f\(lane)-\(index % 20)"
            try keeper.save(name, [UInt8].random(seed: UInt64(index), index % 5 == 0 ? 50_000 : 90))
            if index % 7 == 0 { try keeper.journal.sync() }
            if lane == 0, index % 5 == 0 { try keeper.renew() }
            if lane == 1, index % 5 == 0 { try keeper.collect() }
          }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    ended.wait { $0 == 4 ? () : nil }
    #expect(failures.withLock { $0 } == [])
    for found in [keeper, try JournalKeeper(path)] {
      #expect(found.recovery.losses == [])
      for lane in 0..<4 {
        for index in 40..<60 {
          let expected = [UInt8].random(seed: UInt64(index), index % 5 == 0 ? 50_000 : 90)
          #expect(try found.bytes("f\(lane)-\(index % 20)") == expected)
        }
      }
    }
  }
}

extension JournalKeeper {
  /// Begins the journal anew, and lets bytes go to another staging file.
  func renewWithNewStage() throws {
    journal.files.giveUpStage()
    try renew()
  }
}
