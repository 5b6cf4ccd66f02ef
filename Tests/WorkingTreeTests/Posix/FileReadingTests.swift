import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Reading files")
struct FileReadingTests {
  @Test(
    "recorded bytes are read at any offset, and nothing behind the end", arguments: [5, 200_000])
  func recorded(size: Int) throws {
    let bytes = [UInt8].random(seed: 1, size)
    let fixture = try FileFixture(["a": bytes])
    let number = try fixture.number("a")
    #expect(try fixture.read(number) == bytes)
    #expect(try fixture.read(number, at: 2, 2) == Array(bytes[2..<4]))
    #expect(try fixture.read(number, at: UInt64(size - 1), 10) == [bytes[size - 1]])
    #expect(try fixture.read(number, at: UInt64(size), 10) == [])
    #expect(try fixture.read(number, at: 1 << 60, 10) == [])
    #expect(fixture.overlay.nodes.isEmpty)
  }

  @Test(
    "pending bytes, recorded ones and holes are read as one file", arguments: JournalKind.allCases)
  func mixed(kind: JournalKind) throws {
    let recorded = [UInt8].random(seed: 1, 100_000)
    let fixture = try FileFixture(["a": recorded], over: kind)
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: [.read, .write]).handle
    try fixture.write(handle, "small", at: 10)
    let large = [UInt8].random(seed: 2, 70_000)
    try fixture.write(handle, large, at: 150_000)
    var expected = recorded + [UInt8](repeating: 0, count: 50_000) + large
    expected.replaceSubrange(10..<15, with: Array("small".utf8))
    #expect(try fixture.read(number) == expected)
    #expect(try fixture.read(number, at: 99_990, 60_020) == Array(expected[99_990..<160_010]))
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("a directory has no bytes, and a number that nobody has is stale")
  func refused() throws {
    let fixture = try FileFixture(["d/a": [1]])
    expect(.isDirectory) { try fixture.read(.root) }
    expect(.isDirectory) { try fixture.read(try fixture.number("d")) }
    expect(.stale) { try fixture.read(InodeNumber(1 << 39)) }
  }

  @Test("the target of a symbolic link is read, and one that no link can have is shown escaped")
  func links() throws {
    let fixture = try FileFixture(["a": [1]])
    func link(_ name: String, _ target: [UInt8]) throws -> InodeNumber {
      let stored = StoredContent(
        length: UInt64(target.count), digest: Digest.of(target), content: .inline(target))
      let made = try fixture.create(name, kind: .symlink, content: FileContent(stored: stored))
      try fixture.tree.release(made.handle)
      return made.number
    }
    let plain = try link("l", Array("target".utf8))
    #expect(try fixture.tree.readlink(plain) == Array("target".utf8))
    let strange = try link("m", [0x61, 0, 0x62])
    #expect(try fixture.tree.readlink(strange).starts(with: Array("%llvs%".utf8)))
    expect(.invalid) { try fixture.tree.readlink(try fixture.number("a")) }
    expect(.invalid) { try fixture.tree.readlink(.root) }
    expect(.stale) { try fixture.tree.readlink(InodeNumber(1 << 39)) }
  }

  @Test("bytes whose data file is gone since a version has them are looked for again")
  func lookedForAgain() throws {
    let fixture = try FileFixture()
    let journal = try #require(fixture.journal as? MemoryJournal)
    let (number, handle) = try fixture.create("a")
    try fixture.write(handle, "bytes")
    try fixture.tree.flush(handle)
    // A cut takes the bytes between the look at the file and the reading of the data file.
    journal.beforeRead { try fixture.take(["a"]) }
    #expect(try fixture.text(number) == "bytes")
    #expect(fixture.overlay.nodes[number]?.file?.content.unchangedBase != nil)
  }

  @Test("bytes that are damaged are an error, again and again")
  func damaged() throws {
    let fixture = try FileFixture()
    let journal = try #require(fixture.journal as? MemoryJournal)
    let (number, handle) = try fixture.create("a")
    try fixture.write(handle, "bytes")
    for _ in 0..<2 {
      journal.beforeRead { throw StoreError.corrupt("for a test") }
      let error = #expect(throws: FSError.self) { try fixture.read(number) }
      #expect(error?.damage == "for a test")
    }
    #expect(try fixture.text(number) == "bytes")
  }

  @Test("reading moves the access time as the rules say")
  func accessTimes() throws {
    let fixture = try FileFixture(["a": [1]])
    let tree = fixture.tree
    let number = try fixture.number("a")
    let before = try tree.status(of: number)
    #expect(before.atime == before.mtime)
    _ = try tree.read(number, at: 0, into: .init(start: nil, count: 0), accessing: false)
    #expect(try tree.status(of: number).atime == before.atime)
    #expect(try tree.open(number, mode: .read, accessing: false).hasMovedAccessTime == false)
    #expect(try tree.open(number, mode: .read).hasMovedAccessTime)
    let read = try tree.status(of: number)
    #expect(read.atime > before.atime && read.mtime == before.mtime)
    // Not again for a day.
    #expect(try tree.open(number, mode: .read).hasMovedAccessTime == false)
    fixture.tree.state { $0.accessTimes.rules = AccessRules(files: .always) }
    #expect(try tree.open(number, mode: .read).hasMovedAccessTime)
    fixture.tree.state { $0.accessTimes.rules = AccessRules(files: .never) }
    #expect(try tree.open(number, mode: .read).hasMovedAccessTime == false)
  }

  @Test("a write leaves the access time, though that was never noted")
  func accessTimeOfWritten() throws {
    let fixture = try FileFixture(["a": [1]])
    let number = try fixture.number("a")
    let before = try fixture.tree.status(of: number)
    let handle = try fixture.tree.open(number, mode: .write).handle
    try fixture.write(handle, "x")
    let after = try fixture.tree.status(of: number)
    #expect(after.atime == before.atime && after.mtime > before.mtime)
  }
}
