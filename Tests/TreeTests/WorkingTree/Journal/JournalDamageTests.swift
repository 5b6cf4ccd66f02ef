import LLVSCore
import MountedTree
import Platform
import TestSupport
import Testing

/// Journals that are torn, flipped, from the future, or lack what they refer to.
@Suite(.timeLimit(.minutes(3)))
struct JournalDamageTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  func journal(_ path: String) throws -> String {
    let folder = path + "/journal"
    let names = try FileSystem.list(folder).filter { $0.hasSuffix(".journal") }.sorted()
    return "\(folder)/\(try #require(names.last))"
  }

  func replace(_ path: String, _ bytes: [UInt8]) throws {
    try FileSystem.unlink(path)
    try File(path, [.readWrite, .create, .exclusive]).write(bytes, at: 0)
  }

  /// A store with a version and a few pending changes, the size of the journal after each.
  func filled() throws -> (path: String, sizes: [UInt64]) {
    let mount = try MountedTree(directory.path)
    try mount.save("base", "base")
    try mount.cut()
    var sizes = [mount.tree.journalEnd]
    for index in 0..<5 {
      try mount.save("f\(index)", "text \(index)")
      sizes.append(mount.tree.journalEnd)
    }
    return (mount.path, sizes)
  }

  @Test(
    "cut off at any byte, by its end or by zeros, the journal gives what was whole, and goes on",
    arguments: [0, 700])
  func torn(zeros: Int) throws {
    let (path, sizes) = try filled()
    let file = try journal(path)
    let whole = try FileSystem.read(file, atMost: 1 << 24)
    let used = Array(whole[..<Int(try #require(sizes.last))])
    for end in stride(from: Int(sizes[0]), through: used.count, by: 7) {
      let copy = try TemporaryDirectory()
      try copyTree(path, copy.file("s"))
      let rest = [UInt8](repeating: 0, count: zeros)
      try replace(try journal(copy.file("s")), Array(used[..<end]) + rest)
      let mount = try MountedTree(copy.path)
      #expect(mount.recovery.losses == [])
      #expect(mount.text("base") == "base")
      for index in 0..<5 {
        let isWhole = UInt64(end) >= sizes[index + 1]
        if isWhole { #expect(mount.text("f\(index)") == "text \(index)", "at \(end)") }
        if UInt64(end) <= sizes[index] { #expect(mount.text("f\(index)") == nil, "at \(end)") }
      }
    }
  }

  @Test("a changed byte ends the replay there; with a later mark it is named as damage")
  func flipped() throws {
    let (path, sizes) = try filled()
    let file = try journal(path)
    let used = Array(
      try FileSystem.read(file, atMost: 1 << 24)[..<Int(try #require(sizes.last))])
    for at in stride(from: Int(sizes[0]) + 3, to: used.count, by: 41) {
      let copy = try TemporaryDirectory()
      try copyTree(path, copy.file("s"))
      var bytes = used
      bytes[at] ^= 0x21
      try replace(try journal(copy.file("s")), bytes)
      let mount = try MountedTree(copy.path)
      #expect(mount.text("base") == "base")
      for index in 0..<5 where UInt64(at) >= sizes[index + 1] {
        #expect(mount.text("f\(index)") == "text \(index)", "at \(at)")
      }
      for index in 0..<5 {
        let text = mount.text("f\(index)")
        #expect(text == nil || text == "" || text == "text \(index)", "at \(at)")
      }
    }
  }

  @Test("damage before a mark of what is durable is told")
  func damageBeforeMark() throws {
    let mount = try MountedTree(directory.path)
    try mount.save("a", "a")
    let start = Int(mount.tree.journalEnd)
    try mount.save("b", "b")
    let handle = try mount.open("b", .read)
    try mount.tree.fsync(handle)
    try mount.save("c", "c")
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, copy.file("s"))
    let file = try journal(copy.file("s"))
    var bytes = try FileSystem.read(file, atMost: 1 << 24)
    bytes[start + 20] ^= 1
    try replace(file, bytes)
    let again = try MountedTree(copy.path)
    #expect(again.recovery.losses.count == 1)
    #expect(again.text("a") == "a")
    // A second sync with nothing new writes nothing.
    let end = mount.tree.journalEnd
    try mount.tree.sync()
    let marked = mount.tree.journalEnd
    try mount.tree.sync()
    try mount.tree.sync()
    #expect(mount.tree.journalEnd == marked && marked >= end)
  }

  /// Small files, each brought to the disk, and the size of the journal's file.
  func synced(_ mount: MountedTree, _ numbers: Range<Int>) throws -> UInt64 {
    for number in numbers {
      try mount.save("f\(number)", "text \(number)")
      try mount.tree.fsync(try mount.open("f\(number)", .read))
    }
    return try FileSystem.status(try journal(mount.path)).size
  }

  @Test("files that are synced one by one take the place of zeros, which are no records")
  func zeros() throws {
    let mount = try MountedTree(directory.path)
    #expect(try synced(mount, 0..<3) == mount.tree.journalEnd || mount.tree.journalEnd < 2000)
    let size = try synced(mount, 3..<20)
    #expect(size >= 256 << 10 && size < 1 << 20)
    #expect(mount.tree.journalEnd < 64 << 10)
    #expect(try synced(mount, 20..<30) == size)
    // As a killed daemon leaves it.
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, copy.file("s"))
    do {
      let again = try MountedTree(copy.path)
      #expect(again.recovery.losses == [])
      for number in 0..<30 { #expect(again.text("f\(number)") == "text \(number)") }
    }
    // A backup has the records alone.
    let backup = try TemporaryDirectory()
    try LiveTree.backup(mount.store, to: backup.file("s"))
    #expect(try FileSystem.status(try journal(backup.file("s"))).size < 64 << 10)
    let again = try MountedTree(backup.path)
    #expect(again.recovery.losses == [])
    for number in 0..<30 { #expect(again.text("f\(number)") == "text \(number)") }
    // Damage before a mark is damage whatever stands behind it.
    let damaged = try TemporaryDirectory()
    try copyTree(mount.path, damaged.file("s"))
    let file = try journal(damaged.file("s"))
    var bytes = try FileSystem.read(file, atMost: 1 << 24)
    bytes[Int(mount.tree.journalEnd) / 2] ^= 1
    try replace(file, bytes)
    #expect(try MountedTree(damaged.path).recovery.losses.isEmpty == false)
  }

  @Test("zeros that cannot be written fail nothing")
  func noZeros() throws {
    for code in [Errno.noSpace, Errno.inputOutput] {
      var unharmed = 0
      for nth in 1..<40 {
        let place = try TemporaryDirectory()
        let mount = try MountedTree(place.path)
        let token = Faults.arm(
          Faults.Plan(
            calls: [.write], below: mount.path + "/journal", nth: nth, times: 1,
            action: .fail(code)))
        var answered: [Int] = []
        for number in 0..<10 {
          if (try? synced(mount, number..<number + 1)) != nil { answered.append(number) }
        }
        if Faults.disarm(token) >= nth, answered.count == 10 { unharmed += 1 }
        for number in answered { #expect(mount.text("f\(number)") == "text \(number)") }
        let copy = try TemporaryDirectory()
        try copyTree(mount.path, copy.file("s"))
        let again = try MountedTree(copy.path)
        for number in answered { #expect(again.text("f\(number)") == "text \(number)") }
      }
      #expect(unharmed >= 1)
    }
  }

  @Test("a missing staging file is told, and takes only what needs it")
  func missingStage() throws {
    var random = SeededRandom(seed: 5)
    let large = random.bytes(200_000)
    let mount = try MountedTree(directory.path)
    try mount.save("versioned", large)
    try mount.cut()
    try mount.save("small", "small")
    try mount.save("large", large)
    let handle = try mount.open("versioned", .write)
    try mount.write(handle, random.bytes(50_000))
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, copy.file("s"))
    for name in try FileSystem.list(copy.file("s/journal")) where name.hasSuffix(".stage") {
      try FileSystem.unlink(copy.file("s/journal/\(name)"))
    }
    let again = try MountedTree(copy.path)
    #expect(again.recovery.losses.count == 2)
    #expect(again.text("small") == "small" && again.text("large") == nil)
    #expect(try again.bytes("versioned") == large)
    try again.cut()
    #expect(try again.head().keys.sorted() == ["small", "versioned"])
  }

  @Test("a journal from the future and one without a header are refused, untouched")
  func refused() throws {
    let (path, _) = try filled()
    let file = try journal(path)
    var bytes = try FileSystem.read(file, atMost: 1 << 24)
    bytes[17] ^= 0xFF
    try replace(file, bytes)
    #expect(throws: StoreError.self) { try MountedTree(directory.path) }
    #expect(try FileSystem.read(file, atMost: 1 << 24) == bytes)
  }

  @Test("a bit that flips in the header is put right, and nothing is lost")
  func flippedHeader() throws {
    let (path, _) = try filled()
    let whole = try FileSystem.read(try journal(path), atMost: 1 << 24)
    let end = 16 + Int(whole[2]) << 8 + Int(whole[3])
    for bit in stride(from: 0, to: end * 8, by: 29) {
      let copy = try TemporaryDirectory()
      try copyTree(path, copy.file("s"))
      var bytes = whole
      bytes[bit / 8] ^= 1 << (bit % 8)
      try replace(try journal(copy.file("s")), bytes)
      do {
        let reader = try Store.open(path: copy.file("s"), mode: .reader)
        #expect(try LiveTree.faults(ofJournalIn: reader).first?.contains("flipped") == true)
      }
      let mount = try MountedTree(copy.path)
      #expect(mount.recovery.losses.count == 1 && mount.recovery.losses[0].contains("flipped"))
      #expect(mount.text("base") == "base")
      for index in 0..<5 { #expect(mount.text("f\(index)") == "text \(index)", "bit \(bit)") }
    }
  }

  @Test(
    "a journal in which nothing can be read is put aside, named, and the rest is there",
    arguments: [0, 100, 8192])
  func nothingLeft(zeros: Int) throws {
    let (path, _) = try filled()
    let bytes = [UInt8](repeating: 0, count: zeros)
    for number in 1...2 {
      let file = try journal(path)
      try replace(file, bytes)
      let mount = try MountedTree(directory.path)
      let place = "\(path)/journal.damaged-\(number)"
      #expect(mount.recovery.losses.count == 1)
      #expect(mount.recovery.losses.first?.contains(place) == true, "\(mount.recovery.losses)")
      #expect(mount.text("base") == "base" && mount.text("f0") == nil)
      try mount.save("later", "later \(number)")
      try mount.cut()
      #expect(try mount.head()["later"] == "later \(number)")
      let name = try #require(file.split(separator: "/").last)
      #expect(try FileSystem.read("\(place)/\(name)", atMost: 1 << 20) == bytes)
    }
    let mount = try MountedTree(directory.path)
    #expect(mount.recovery.losses == [] && mount.text("later") == "later 2")
  }

  @Test("a copy taken at any moment between commit and checkpoint shows the same tree")
  func betweenCommitAndCheckpoint() throws {
    let mount = try MountedTree(directory.path)
    try mount.makeDirectory("d")
    try mount.save("d/x", "x")
    try mount.save("f", "f")
    try mount.cut()
    try mount.save("f", "changed")
    try mount.rename("d", "e")
    try mount.save("new", "new")
    try mount.change("e/x") { $0.mode = 0o600 }
    try mount.unlink("f")
    try mount.save("g", "g")
    let unsaved = try mount.create("unsaved")
    try mount.write(unsaved, Array("half".utf8))
    try mount.tree.sync()
    // The store commits; the journal's next generation never gets its name.
    let token = Faults.arm(
      Faults.Plan(
        calls: [.rename], below: mount.path + "/journal", times: 1,
        action: .fail(Errno.inputOutput)))
    try mount.cut()
    Faults.disarm(token)
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, copy.file("s"))
    let again = try MountedTree(copy.path)
    #expect(again.recovery.losses == [])
    #expect(try again.names() == ["e", "g", "new", "unsaved"])
    #expect(again.text("unsaved") == "half" && again.text("e/x") == "x")
    #expect(try again.head().keys.sorted() == ["e/", "e/x", "g", "new"])
    let number = try again.store.state().lastNumber
    #expect(again.tree.pending().unsaved == [Array("unsaved".utf8)])
    try again.cut()
    // Everything that the cut took is recognised: there is nothing left to make a version of.
    #expect(try again.store.state().lastNumber == number)
    try again.save("e/x", "y")
    try again.cut()
    #expect(try again.head()["e/x"] == "y")
    #expect(try again.store.verify().isSound)
  }
}
