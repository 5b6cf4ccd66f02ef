import Events
import LLVSCore
import MountedTree
import Platform
import TestSupport
import Testing
import TreeNames

/// Invariant J6: bits that rot before they are in a version are an error for who reads them, never an
/// answer and never in a version, and the others go on.
@Suite(.timeLimit(.minutes(3)))
struct PendingRotTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// The data files of a store, the newest last.
  func files(_ store: String, _ suffix: String) throws -> [String] {
    try FileSystem.list(store + "/journal").filter { $0.hasSuffix(suffix) }.sorted()
      .map { "\(store)/journal/\($0)" }
  }

  func flip(_ path: String, at offset: UInt64, bit: UInt8 = 4) throws {
    let file = try File(path, .readWrite)
    let byte = try #require(try file.read(1, at: offset).first)
    try file.write([byte ^ (1 << bit)], at: offset)
  }

  /// Where bytes stand in a file.
  func place(of bytes: [UInt8], in path: String) throws -> UInt64 {
    let all = try FileSystem.read(path, atMost: 64 << 20)
    let first = try #require(bytes.first)
    for at in all.indices where all[at] == first && all.count - at >= bytes.count {
      if all[at..<(at + bytes.count)].elementsEqual(bytes) { return UInt64(at) }
    }
    throw StoreError.notFound("the bytes in \(path)")
  }

  func isDamaged(_ body: () throws -> Void) -> Bool {
    do { try body() } catch FSError.store(.corrupt) { return true } catch { return false }
    return false
  }

  func log(_ mount: MountedTree) -> [String] {
    EventLog(directory: mount.path).lastLines(50)
  }

  @Test("a flipped bit in a staging file: an error, a line in the log, in no version; others go on")
  func stage() throws {
    let mount = try MountedTree(directory.path)
    let large = [UInt8].random(seed: 1, 300_000)
    try mount.save("bad", large)
    try mount.save("good", [UInt8].random(seed: 2, 100_000))
    let stage = try #require(try files(mount.path, ".stage").last)
    try flip(stage, at: 70_000)
    #expect(isDamaged { _ = try mount.bytes("bad") })
    #expect(try mount.bytes("good") == [UInt8].random(seed: 2, 100_000))
    // What rotted is one block of 64 KiB; what stands before and behind it can be read.
    let inode = try mount.inode("bad")
    for (from, count, isBad) in [
      (0, 65_536, false), (0, 65_537, true), (69_000, 10, true), (100_000, 4096, true),
      (131_072, 100_000, false), (131_071, 2, true), (299_000, 5000, false),
    ] {
      let status = try mount.status("bad")
      #expect(status.inode == inode)
      let handle = try mount.open("bad", .read)
      var buffer = [UInt8](repeating: 0, count: count)
      let failed = isDamaged {
        let got = try buffer.withUnsafeMutableBytes { raw in
          try mount.tree.read(inode, at: UInt64(from), into: raw)
        }
        #expect(Array(buffer[..<got]) == Array(large[from..<min(from + count, large.count)]))
      }
      #expect(failed == isBad, "\(from) \(count)")
      try mount.tree.release(handle)
    }
    let outcome = try mount.cut()
    #expect(outcome.unreadable == [Array("bad".utf8)])
    #expect(try mount.head().keys.sorted() == ["good"])
    #expect(
      log(mount).contains { $0.contains("bad: \(stage)") && $0.contains("versions leave it out") })
    // It stays as it is, and does not keep anything from being made a version of.
    try mount.save("next", "next")
    try mount.cut()
    #expect(try mount.head().keys.sorted() == ["good", "next"])
    #expect(isDamaged { _ = try mount.bytes("bad") })
    // Over a bad block a good one is written; then the file is whole again.
    let handle = try mount.open("bad", .write)
    try mount.write(handle, Array(large[65_536..<131_072]), at: 65_536)
    try mount.close(handle)
    #expect(try mount.bytes("bad") == large)
    #expect(try mount.cut().unreadable.isEmpty)
    #expect(try mount.head().keys.sorted() == ["bad", "good", "next"])
    #expect(try mount.bytes("bad") == large)
    #expect(try mount.store.verify().isSound)
  }

  @Test("a rotten change of a versioned file leaves the version's bytes in versions")
  func overVersioned() throws {
    let mount = try MountedTree(directory.path)
    let old = [UInt8].random(seed: 3, 150_000)
    try mount.save("f", old)
    try mount.cut()
    try mount.save("f", [UInt8].random(seed: 4, 150_000))
    try flip(try #require(try files(mount.path, ".stage").last), at: 149_999)
    try mount.save("other", "x")
    try mount.rename("f", "g")
    #expect(try mount.cut().unreadable == [Array("g".utf8)])
    let entry = try #require(try mount.entry("g"))
    #expect(try mount.store.bytes(entry.stored) == old)
    #expect(try mount.entry("other") != nil)
    #expect(isDamaged { _ = try mount.bytes("g") })
    try mount.unlink("g")
    try mount.cut()
    #expect(try mount.head().keys.sorted() == ["other"])
  }

  @Test("a flipped bit in bytes that stand in the journal", arguments: [0, 1])
  func inline(remounting: Int) throws {
    let first = try MountedTree(directory.path)
    try first.save("versioned", "v")
    try first.cut()
    let bytes = [UInt8].random(seed: 5, 5000)
    try first.save("before", "before")
    try first.save("bad", bytes)
    try first.save("after", "after")
    let journal = try #require(try files(first.path, ".journal").last)
    try flip(journal, at: try place(of: bytes, in: journal) + 2345)
    var mount = first
    let copy = try TemporaryDirectory()
    if remounting == 1 {
      try copyTree(first.path, copy.file("s"))
      mount = try MountedTree(copy.path)
      #expect(mount.recovery.losses.count == 1)
      #expect(mount.recovery.losses.first?.contains("bad") == true)
    }
    #expect(isDamaged { _ = try mount.bytes("bad") })
    #expect(mount.text("before") == "before" && mount.text("after") == "after")
    #expect(mount.text("versioned") == "v")
    #expect(try mount.cut().unreadable == [Array("bad".utf8)])
    #expect(try mount.head() == ["versioned": "v", "before": "before", "after": "after"])
  }

  @Test("a damaged record with good ones behind it is named, though no mark covers it")
  func frame() throws {
    let first = try MountedTree(directory.path)
    try first.save("before", "before")
    let start = first.tree.journalEnd
    try first.save("bad", "bad")
    try first.save("after", "after")
    let end = first.tree.journalEnd
    let whole = try FileSystem.read(
      try #require(try files(first.path, ".journal").last), atMost: 64 << 20)
    // Every byte of the first record behind `start`, and then a few of the others.
    let places =
      Array(start..<(start + 24)) + Array(stride(from: start + 30, to: end - 200, by: 53))
    for at in places {
      let copy = try TemporaryDirectory()
      try copyTree(first.path, copy.file("s"))
      let journal = try #require(try files(copy.file("s"), ".journal").last)
      try flip(journal, at: at, bit: UInt8(at % 8))
      let mount = try MountedTree(copy.path)
      #expect(mount.recovery.losses.count == 1, "at \(at)")
      #expect(mount.text("before") == "before", "at \(at)")
      try mount.save("more", "more")
      try mount.cut()
      #expect(try mount.store.verify().isSound)
    }
    // Cut off anywhere it is a killed process's last record, which is no damage.
    for at in stride(from: Int(start), to: Int(end), by: 29) {
      let copy = try TemporaryDirectory()
      try copyTree(first.path, copy.file("s"))
      let journal = try #require(try files(copy.file("s"), ".journal").last)
      try FileSystem.unlink(journal)
      try File(journal, [.readWrite, .create, .exclusive]).write(Array(whole[..<at]), at: 0)
      #expect(try MountedTree(copy.path).recovery.losses == [], "at \(at)")
    }
  }

  @Test(
    "what a program wrote may look like a journal: cut off inside, that is no damage",
    arguments: [0, 700])
  func journalInFile(zeros: Int) throws {
    let other = try TemporaryDirectory()
    let sample = try MountedTree(other.path)
    try sample.save("x", "some text")
    try sample.save("y", "some text")
    let frames = Array(
      try FileSystem.read(try #require(try files(sample.path, ".journal").last), atMost: 1 << 24)[
        ..<Int(sample.tree.journalEnd)])
    let first = try MountedTree(directory.path)
    try first.save("before", "before")
    let handle = try first.create("copy")
    try first.write(handle, [UInt8](repeating: 7, count: 500) + frames)
    let end = Int(first.tree.journalEnd)
    let whole = try FileSystem.read(
      try #require(try files(first.path, ".journal").last), atMost: 64 << 20)
    let copy = try TemporaryDirectory()
    try copyTree(first.path, copy.file("s"))
    let journal = try #require(try files(copy.file("s"), ".journal").last)
    try FileSystem.unlink(journal)
    try File(journal, [.readWrite, .create, .exclusive]).write(
      Array(whole[..<(end - 3)]) + [UInt8](repeating: 0, count: zeros), at: 0)
    let mount = try MountedTree(copy.path)
    #expect(mount.recovery.losses == [])
    #expect(mount.text("before") == "before")
  }

  @Test("checksums go with pending bytes through cuts, remounts and gathering")
  func carried() throws {
    let large = [UInt8].random(seed: 6, 200_000)
    let small = [UInt8].random(seed: 7, 3000)
    var mount = try MountedTree(directory.path)
    // Scratch files never go into a version, so their bytes stay where they are.
    try mount.save("large~", large)
    try mount.save("small~", small)
    let stage = try #require(try files(mount.path, ".stage").last)
    let journal = try #require(try files(mount.path, ".journal").last)
    let at = try place(of: small, in: journal)
    for round in 0..<3 {
      try mount.save("f\(round)", [UInt8].random(seed: UInt64(round), 1000))
      try mount.cut()
    }
    #expect(try FileSystem.exists(stage) && FileSystem.exists(journal))
    var copies: [TemporaryDirectory] = []
    for round in 0..<2 {
      let copy = try TemporaryDirectory()
      copies.append(copy)
      try copyTree(mount.path, copy.file("s"))
      mount = try MountedTree(copy.path)
      #expect(try mount.bytes("large~") == large && mount.bytes("small~") == small)
      guard round == 1 else { continue }
      let moved = copy.file("s") + "/journal/"
      let name = { (path: String) in String(path.split(separator: "/").last ?? "") }
      try flip(moved + name(stage), at: 123_456)
      try flip(moved + name(journal), at: at + 100)
      #expect(isDamaged { _ = try mount.bytes("large~") })
      #expect(isDamaged { _ = try mount.bytes("small~") })
    }
  }

  /// Turns the newest journal into what format 1 was: without checksums in its checkpoint.
  func makeFirstFormat(_ store: String) throws {
    let path = try #require(try files(store, ".journal").last)
    let old = try FileSystem.read(path, atMost: 64 << 20)
    func number(_ at: Int) -> Int { old[at..<(at + 4)].reduce(0) { $0 << 8 | Int($1) } }
    var new: [UInt8] = []
    var at = 0
    var dropped = 0
    while at + 16 < old.count, number(at) > 0 {
      let (meta, data) = (number(at), number(at + 4))
      var frame = Array(old[at..<(at + 16 + meta + data)])
      at += frame.count
      if new.isEmpty {
        frame[16 + 11] = 1
        let sum = Checksum.of(Array(frame[..<8]) + Array(frame[16...]))
        for index in 0..<8 { frame[8 + index] = UInt8(truncatingIfNeeded: sum >> (56 - index * 8)) }
      } else if frame[16] == 17 {
        dropped += 1
        continue
      }
      new += frame
    }
    #expect(dropped > 0)
    try FileSystem.unlink(path)
    try File(path, [.readWrite, .create, .exclusive]).write(new, at: 0)
  }

  @Test("a journal of format 1 is read, and its pending bytes are checked from then on")
  func firstFormat() throws {
    let large = [UInt8].random(seed: 6, 200_000)
    let first = try MountedTree(directory.path)
    try first.save("large~", large)
    try first.save("f", [UInt8].random(seed: 1, 1000))
    try first.cut()
    var store = try TemporaryDirectory()
    try copyTree(first.path, store.file("s"))
    try makeFirstFormat(store.file("s"))
    var stores = [store]
    for _ in 0..<2 {
      let mount = try MountedTree(store.path)
      #expect(mount.recovery.losses == [])
      #expect(try mount.bytes("large~") == large)
      store = try TemporaryDirectory()
      try copyTree(mount.path, store.file("s"))
      stores.append(store)
    }
    try flip(try #require(try files(store.file("s"), ".stage").first), at: 100_000)
    let mount = try MountedTree(store.path)
    #expect(isDamaged { _ = try mount.bytes("large~") })
  }

  @Test("bytes that are copied together are checked first, and carry their own checksums then")
  func gathered() throws {
    let mount = try MountedTree(directory.path)
    var staged: [String] = []
    // A scratch file in each of many generations of the journal, until they are copied together.
    for index in 0..<80 {
      try mount.save("s\(index)~", [UInt8].random(seed: UInt64(index), 2000))
      if index == 3 {
        let journal = try #require(try files(mount.path, ".journal").last)
        try flip(journal, at: try place(of: [UInt8].random(seed: 3, 2000), in: journal) + 1000)
      }
      try mount.save("f", [UInt8].random(seed: UInt64(1000 + index), 300_000))
      try mount.cut()
      staged = try files(mount.path, ".stage")
    }
    #expect(try files(mount.path, ".journal").count < 40)
    #expect(isDamaged { _ = try mount.bytes("s3~") })
    for index in 0..<80 where index != 3 {
      #expect(try mount.bytes("s\(index)~") == [UInt8].random(seed: UInt64(index), 2000))
    }
    var found = 0
    for stage in staged where try FileSystem.exists(stage) {
      guard let at = try? place(of: [UInt8].random(seed: 10, 2000), in: stage) else { continue }
      try flip(stage, at: at + 7)
      found += 1
    }
    #expect(found == 1)
    #expect(isDamaged { _ = try mount.bytes("s10~") })
    #expect(try mount.bytes("s11~") == [UInt8].random(seed: 11, 2000))
  }

  @Test("a change of a versioned file whose own bytes are damaged does not stop the others")
  func damagedBase() throws {
    let mount = try MountedTree(directory.path)
    try mount.save("f", [UInt8].random(seed: 8, 400_000))
    try mount.cut()
    let bytes = [UInt8].random(seed: 8, 400_000)
    var hit = false
    for name in try FileSystem.list(mount.path + "/segments") {
      let path = "\(mount.path)/segments/\(name)"
      guard let at = try? place(of: Array(bytes[195_000..<195_100]), in: path) else { continue }
      try flip(path, at: at)
      hit = true
    }
    #expect(hit)
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, copy.file("s"))
    let again = try MountedTree(copy.path)
    let handle = try again.open("f", .write)
    try again.write(handle, [UInt8].random(seed: 9, 10), at: 200_000)
    try again.close(handle)
    try again.save("other", "x")
    #expect(try again.cut().unreadable == [Array("f".utf8)])
    #expect(try again.entry("other") != nil)
    #expect(isDamaged { _ = try again.bytes("f") })
  }
}
