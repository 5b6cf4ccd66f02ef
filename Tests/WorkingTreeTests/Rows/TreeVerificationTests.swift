import Inodes
import LLVSCore
import Platform
import SQLite
import SQLiteSums
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

@Suite("The check of a working tree", .timeLimit(.minutes(5)))
struct TreeVerificationTests {
  /// The ways to check a tree.
  enum Way: CaseIterable {
    /// As a daemon does.
    case mounted
    /// As the tool does with a store that is not mounted.
    case stored
  }

  private let directory = Result { try TemporaryDirectory() }

  /// A tree with a version, and with pending changes of each kind.
  private func fill() throws -> MountedTree {
    var random = SeededRandom(seed: 5)
    let mount = try MountedTree.unhurried(directory.get().path)
    try mount.makeDirectory("d")
    for index in 0..<20 { try mount.save("d/f\(index)", random.bytes(40 + index * 37)) }
    try mount.cut()
    try mount.save("small", random.bytes(3000))
    try mount.save("d/staged", random.bytes(200_000))
    try mount.with("d/link") { parent, name in
      _ = try mount.tree.makeSymlink(
        parent, name, target: Array("target".utf8), caller: MountedTree.caller)
    }
    try mount.rename("d/f1", "moved")
    try mount.unlink("d/f2")
    try mount.save("d/f3", "changed")
    return mount
  }

  private func faults(_ mount: MountedTree, _ way: Way) throws -> [String] {
    switch way {
    case .mounted: return try mount.tree.faults { false }
    case .stored:
      let reader = try Store.open(path: mount.path, mode: .reader, isForced: true)
      return try TreeSession.faults(ofTreeIn: reader)
    }
  }

  /// Runs SQL on the rows of a tree.
  private func change(_ mount: MountedTree, _ sql: String) throws {
    try Database(path: mount.path + "/tree.sqlite", mode: .readWrite, options: .withPageSums)
      .execute(sql)
  }

  /// The first bytes of a pending file, and the data file that has them.
  private func bytes(_ mount: MountedTree, _ path: String) throws -> (file: File, place: Extent) {
    let number = InodeNumber(try mount.inode(path))
    let content = try #require(mount.tree.files.pending.nodes[number]?.file?.content)
    var places: [Extent] = []
    content.extents.forEach { places.append($0) }
    let place = try #require(places.first)
    return (try #require(mount.tree.journal.files.file(place.source)), place)
  }

  /// Flips a bit of the bytes of a pending file.
  private func flip(_ mount: MountedTree, _ path: String) throws {
    let (file, place) = try bytes(mount, path)
    let byte = try file.read(1, at: place.offset + place.length / 2)
    try file.write([byte[0] ^ 4], at: place.offset + place.length / 2)
  }

  /// What stands in a store.
  private func contents(_ path: String) throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for name in try FileSystem.list("\(path)/journal") {
      found[name] = try FileSystem.read("\(path)/journal/\(name)", atMost: 1 << 26)
    }
    return found
  }

  // MARK: - Sound trees

  @Test(
    "the freed bytes of a file that was removed and then closed are no damage",
    arguments: Way.allCases)
  func closedOrphan(way: Way) throws {
    var random = SeededRandom(seed: 9)
    let mount = try fill()
    let handle = try mount.create("gone")
    try mount.write(handle, random.bytes(200_000))
    let (file, place) = try bytes(mount, "gone")
    try mount.unlink("gone")
    try mount.close(handle)
    // As a punched hole reads.
    try file.write([UInt8](repeating: 0, count: 100_000), at: place.offset)
    #expect(try faults(mount, way) == [])
  }

  @Test("A sound tree has no faults, before and after a version, and the check changes nothing")
  func sound() throws {
    let mount = try fill()
    for _ in 0..<2 {
      let before = try contents(mount.path)
      for way in Way.allCases { #expect(try faults(mount, way) == []) }
      #expect(try contents(mount.path) == before)
      try mount.cut()
    }
    // An orphan that a program holds, and one that nobody holds any more.
    let handle = try mount.open("d/f4", [.read, .write])
    try mount.write(handle, [1, 2, 3])
    try mount.unlink("d/f4")
    for way in Way.allCases { #expect(try faults(mount, way) == []) }
    try mount.close(handle)
    try mount.cut()
    for way in Way.allCases { #expect(try faults(mount, way) == []) }
  }

  @Test("A store without a tree has no faults, nor has one of which the rows are gone")
  func absent() throws {
    let path = try directory.get().file("empty")
    _ = try Store.open(path: path, create: true)
    let empty = try Store.open(path: path, mode: .reader)
    #expect(try TreeSession.faults(ofTreeIn: empty) == [])
    do {
      _ = try fill()
    }
    let filled = try directory.get().file("s")
    for suffix in ["", "-wal", "-shm"] { try? FileSystem.unlink("\(filled)/tree.sqlite\(suffix)") }
    let reader = try Store.open(path: filled, mode: .reader)
    #expect(try TreeSession.faults(ofTreeIn: reader) == [])
    #expect(try !FileSystem.exists("\(filled)/tree.sqlite"))
  }

  @Test("Programs at work, versions and new journals are no faults, and writers go on")
  func atWork() throws {
    let mount = try fill()
    // What the thread uses of it is safe for any thread.
    nonisolated(unsafe) let writer = mount
    let state = Monitor((isEnding: false, hasEnded: false, rounds: 0))
    try SystemThread.detach(name: "test-writer") {
      var random = SeededRandom(seed: 9)
      while !state.withLock({ $0.isEnding }) {
        let name = "w\(random.next() % 20)"
        try? writer.save(name, random.bytes(Int(random.next() % 60_000)))
        if random.next() % 5 == 0 { try? writer.rename(name, "d/v\(random.next() % 20)") }
        if random.next() % 10 == 0 { _ = try? writer.cut() }
        if random.next() % 10 == 0 { try? writer.tree.beginJournalAnew() }
        state.withLock { $0.rounds += 1 }
      }
      state.withLock { $0.hasEnded = true }
      state.broadcast()
    }
    // The writer may get few turns beside the checks: its rounds end the loop, and the time limit does if there are none.
    var checks = 0
    while checks < 40 || state.withLock({ $0.rounds }) <= 20 {
      #expect(try faults(mount, .mounted) == [])
      checks += 1
    }
    state.withLock { $0.isEnding = true }
    state.wait { $0.hasEnded ? () : nil }
    for way in Way.allCases { #expect(try faults(mount, way) == []) }
  }

  // MARK: - Damage

  @Test("Rows that are not those of the version are named by path", arguments: Way.allCases)
  func rows(way: Way) throws {
    let changes = [
      ("DELETE FROM entries WHERE name = CAST('f5' AS BLOB)", "d/f5"),
      ("UPDATE entries SET name = CAST('f99' AS BLOB) WHERE name = CAST('f6' AS BLOB)", "d/f6"),
      (
        """
        UPDATE inodes SET record = (SELECT record FROM inodes WHERE number =
        (SELECT inode FROM entries WHERE name = CAST('f8' AS BLOB)))
        WHERE number = (SELECT inode FROM entries WHERE name = CAST('f7' AS BLOB))
        """, "d/f7"
      ),
    ]
    let mount = try fill()
    for (sql, path) in changes {
      try change(mount, sql)
      let faults = try faults(mount, way)
      #expect(faults.contains { $0.contains("at \(path): ") }, "\(faults)")
      #expect(faults.contains { $0.contains("remove the file, and mount the store") })
    }
  }

  @Test("Rows that cannot be read are a fault, with what to do")
  func unreadableRows() throws {
    let path = try directory.get().file("s")
    do {
      let mount = try fill()
      mount.tree.recorded.emptyLog()
    }
    let file = try File("\(path)/tree.sqlite", .readWrite)
    for page in 1..<(try file.status().size / 4096) {
      try file.write([0xFF], at: page * 4096 + 2000)
    }
    let reader = try Store.open(path: path, mode: .reader)
    let faults = try TreeSession.faults(ofTreeIn: reader)
    #expect(faults.contains { $0.contains("tree.sqlite") && $0.contains("mounting the store") })
  }

  @Test("Damaged bytes of pending files are named by path", arguments: Way.allCases)
  func bytes(way: Way) throws {
    let mount = try fill()
    for path in ["small", "d/link", "d/staged"] {
      try flip(mount, path)
      let faults = try faults(mount, way)
      #expect(
        faults.contains {
          $0.hasPrefix("\(path): ") && $0.hasSuffix("write the file again, restore it or remove it")
        },
        "\(faults)")
    }
    #expect(try faults(mount, way).count == 3)
  }

  @Test("Bytes whose file is gone are named by path")
  func noFile() throws {
    let path = try directory.get().file("s")
    do { _ = try fill() }
    for name in try FileSystem.list("\(path)/journal") where name.hasSuffix(".stage") {
      try FileSystem.unlink("\(path)/journal/\(name)")
    }
    let reader = try Store.open(path: path, mode: .reader)
    let faults = try TreeSession.faults(ofTreeIn: reader)
    #expect(faults.count == 1 && faults[0].hasPrefix("d/staged: "), "\(faults)")
  }

  @Test("A damaged record is named, and the file stays as it is")
  func record() throws {
    let path = try directory.get().file("s")
    let end: UInt64
    do {
      let mount = try fill()
      end = mount.tree.journalEnd
      try mount.save("later", "later")
    }
    let name = try #require(
      try FileSystem.list("\(path)/journal").filter { $0.hasSuffix(".journal") }.max())
    let file = try File("\(path)/journal/\(name)", .readWrite)
    try file.write([0xFF], at: end)
    let before = try FileSystem.list(path)
    let reader = try Store.open(path: path, mode: .reader)
    let faults = try TreeSession.faults(ofTreeIn: reader)
    #expect(faults.contains { $0.contains("the record at byte \(end) is damaged") }, "\(faults)")
    #expect(try FileSystem.list(path).filter { $0.hasPrefix("journal.") } == [])
    #expect(Set(try FileSystem.list(path)).isSuperset(of: before))
  }

  @Test("Inode numbers that the store did not hand out are named by path", arguments: Way.allCases)
  func numbers(way: Way) throws {
    let mount = try fill()
    func renumber(_ name: String, _ number: UInt64) throws {
      let old = "(SELECT inode FROM entries WHERE name = CAST('\(name)' AS BLOB))"
      try change(
        mount,
        """
        UPDATE inodes SET number = \(number) WHERE number = \(old);
        UPDATE entries SET inode = \(number) WHERE name = CAST('\(name)' AS BLOB)
        """)
    }
    try renumber("f10", 1 << 30)
    try renumber("f11", InodeNumber.limit.rawValue)
    let place = InodeName(directory: .root, name: FileName(Array("forged".utf8)))
    let forged = Change(
      time: Attributes.Time.now,
      .create(
        InodeNumber(1 << 41), at: place, kind: .regular, attributes: Attributes(),
        content: FileContent(), isSaved: false, seen: nil))
    try mount.tree.journal.append([forged], mayUseReserve: false)
    mount.tree.files.state { $0.overlay.apply(forged) }
    let faults = try faults(mount, way)
    try #require(faults.count == 3, "\(faults)")
    for (fault, path, number) in zip(zip(faults, ["d/f10", "d/f11", "forged"]), [30, 40, 41]).map({
      ($0.0, $0.1, $1)
    }) {
      #expect(fault.hasPrefix("\(path): its inode number, \(UInt64(1) << number), is not below"))
    }
    #expect(faults[0].hasSuffix("raises that") && faults[1].hasSuffix("small numbers"))
  }

  @Test(
    "Pending changes that do not fit the version below them are a fault", arguments: Way.allCases)
  func pending(way: Way) throws {
    let mount = try fill()
    let place = InodeName(directory: InodeNumber(99), name: FileName(Array("lost".utf8)))
    let change = Change(
      time: Attributes.Time.now,
      .create(
        try mount.tree.files.numbers.number(), at: place, kind: .regular, attributes: Attributes(),
        content: FileContent(), isSaved: false, seen: nil))
    try mount.tree.journal.append([change], mayUseReserve: false)
    mount.tree.files.state { $0.overlay.apply(change) }
    let faults = try faults(mount, way)
    #expect(
      faults.count == 1
        && faults[0].contains("do not fit the version below them: lost in inode 99"),
      "\(faults)")
  }

  @Test("A check that is cancelled ends")
  func cancelled() throws {
    let mount = try fill()
    #expect(throws: StoreError.self) { try mount.tree.faults { true } }
  }
}
