import Inodes
import LLVSCore
import Platform
import SQLite
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Opening the recorded tree", .timeLimit(.minutes(3)))
struct TreeOpeningTests {
  private func history(_ seed: UInt64 = 3) throws -> RecordedTreeHistory {
    let history = try RecordedTreeHistory(seed: seed)
    try history.change { $0.mutate(&$1, changes: 40) }
    try history.open()
    return history
  }

  private func isBuilt(_ opening: RecordedTree.Opening) -> Bool {
    if case .built = opening { return true }
    return false
  }

  @Test("rows of the head are used as they are, with the numbers that they have")
  func current() throws {
    let history = try history()
    let numbers = try history.allNumbers()
    #expect(try history.open() == .current)
    #expect(try history.allNumbers() == numbers)
    try history.check("opened again")
  }

  @Test("rows of an earlier head become the head's, and unchanged files keep their numbers")
  func earlier() throws {
    let history = try history()
    let numbers = try history.allNumbers()
    let before = try TreeMaps.shown(history.view)
    history.close()
    for _ in 0..<3 { try history.change { $0.mutate(&$1, changes: 3) } }
    #expect(try history.open() == .advanced)
    try history.check("advanced over three heads")
    let after = try TreeMaps.shown(history.view)
    for (path, found) in before where after[path] == found && !found.isDirectory {
      #expect(try history.number(path) == numbers[path])
    }
  }

  @Test("without a file, with that of another store or of an unknown version, rows are made anew")
  func madeAnew() throws {
    let history = try history()
    history.close()
    try FileSystem.unlink(history.path)
    #expect(isBuilt(try history.open()))
    try history.check("deleted")
    history.close()
    let other = [UInt8](repeating: 9, count: 16)
    let opened = try RecordedTree.open(at: history.path, for: history.origin(storeID: other))
    #expect(isBuilt(opened.opening))
    #expect(isBuilt(try history.open()))
    var origin = history.origin()
    history.close()
    origin.map = { _, _ in nil }
    origin.head.cut += 1
    origin.head.version = Version.ID("another")
    #expect(isBuilt(try RecordedTree.open(at: history.path, for: origin).opening))
    try FileSystem.unlink(history.path)
    try File(history.path, [.write, .create]).write(Array("no database".utf8), at: 0)
    #expect(isBuilt(try history.open()))
    try history.check("no database")
  }

  @Test("a flipped bit of the file is found, or changes nothing that is shown")
  func damaged() throws {
    let history = try history()
    history.close()
    let whole = try FileSystem.read(history.path, atMost: 1 << 24)
    let size = whole.count
    #expect(size > 5 * 4096 && size % 4096 == 0)
    var random = SeededRandom(seed: 5)
    var found = 0
    let image = history.directory.file("damaged.sqlite")
    for round in 0..<300 {
      var bytes = whole
      bytes[Int.random(in: 0..<size, using: &random)] ^= 1 << UInt8(round % 8)
      try? FileSystem.unlink(image)
      try File(image, [.write, .create]).write(bytes, at: 0)
      let (tree, opening) = try RecordedTree.open(at: image, for: history.origin())
      if isBuilt(opening) { found += 1 }
      do {
        #expect(try tree.faults(comparedWith: history.view) == [], "round \(round)")
      } catch StoreError.rebuildable {
        found += 1
        let again = try RecordedTree.rebuild(at: image, for: history.origin())
        #expect(try again.faults(comparedWith: history.view) == [])
      }
    }
    // Pages that no row is read from are few.
    #expect(found > 250, "\(found)")
  }

  @Test("a write that fails leaves the rows as they were, whichever it is", .timeLimit(.minutes(1)))
  func failedWrites() throws {
    DatabaseFaults.install()
    let history = try history()
    let tree = try #require(history.tree)
    let before = history.view
    try history.change { $0.mutate(&$1, changes: 20) }
    let numbers = NumberSource { _ in 1_000_000 }
    var failures = 0
    for nth in 1... {
      let token = Faults.arm(
        Faults.Plan(
          calls: [.write], below: history.directory.path, nth: nth, action: .fail(Errno.noSpace)))
      defer { Faults.disarm(token) }
      do {
        try tree.prepare(history.head(), from: before, numbers: numbers, now: history.now)
        try tree.publish()
        break
      } catch StoreError.system(let error) {
        #expect(error.errno == Errno.noSpace)
        failures += 1
        #expect(try tree.faults(comparedWith: before) == [], "write \(nth)")
      }
    }
    #expect(failures > 5)
    #expect(try tree.faults(comparedWith: history.view) == [])
  }

  @Test("whenever the power fails, the next opening has the head's rows", .timeLimit(.minutes(1)))
  func powerFailures() throws {
    DatabaseFaults.install()
    for seed in UInt64(0)..<4 {
      let history = try RecordedTreeHistory(seed: seed)
      let images = try TemporaryDirectory(inMemory: true)
      let calls = Monitor(0)
      let disk = try PowerDisk(history.directory.path) { disk, call, _ in
        guard [.write, .sync, .truncate].contains(call) else { return }
        let count = calls.withLock { count in
          count += 1
          return count
        }
        guard count % 23 == 0 || call == .sync else { return }
        try? disk.image(at: images.file("\(count)"), .some(seed: seed &+ UInt64(count)))
      }
      try history.change { $0.mutate(&$1, changes: 200) }
      try history.open()
      for _ in 0..<4 {
        try history.advance { $0.mutate(&$1, changes: 60) }
        history.tree?.emptyLog()
      }
      disk.stop()
      let names = try FileSystem.list(images.path)
      #expect(names.count > 5)
      for name in names {
        let path = images.file("\(name)/tree.sqlite")
        let tree = try RecordedTree.open(at: path, for: history.origin()).tree
        do {
          #expect(try tree.faults(comparedWith: history.view) == [], "\(name), seed \(seed)")
        } catch StoreError.rebuildable {
          let again = try RecordedTree.rebuild(at: path, for: history.origin())
          #expect(try again.faults(comparedWith: history.view) == [], "\(name), seed \(seed)")
        }
      }
    }
  }
}
