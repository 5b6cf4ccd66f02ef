import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Holes of files and room that they are given")
struct FileRoomTests {
  private let zeros = [UInt8](repeating: 0, count: 1 << 19)

  /// A file with a hole in the middle, as a version has it.
  private var holed: [UInt8] { .random(seed: 4, 100_000) + zeros + .random(seed: 5, 100_000) }

  @Test("data and holes are found, in recorded files and in pending ones")
  func seek() throws {
    let fixture = try FileFixture(["a": holed])
    let tree = fixture.tree
    let number = try fixture.number("a")
    func seek(_ offset: UInt64, _ toData: Bool) throws -> UInt64? {
      try tree.seek(number, from: offset, toData: toData).offset
    }
    #expect(try seek(5, true) == 5)
    let hole = try #require(try seek(0, false))
    #expect(hole >= 100_000 && hole < 170_000)
    let data = try #require(try seek(hole, true))
    #expect(data > hole && data <= UInt64(100_000 + zeros.count))
    #expect(try seek(data, false) == UInt64(holed.count))
    expect(.noDevice) { try seek(UInt64(holed.count), false) }
    let status = try tree.status(of: number)
    #expect(status.size == UInt64(holed.count) && status.stored == status.size - (data - hole))

    let handle = try tree.open(number, mode: .write).handle
    try fixture.write(handle, "x", at: 300_000)
    #expect(try seek(hole, true) == 300_000)
    #expect(try seek(300_000, false) == 300_001)
    try tree.resize(number, to: 2_000_000, through: handle)
    #expect(try seek(UInt64(holed.count), true) == nil)
    #expect(try seek(UInt64(holed.count), false) == UInt64(holed.count))
    // Bytes in a hole of the recorded value are not counted apart from it.
    #expect(try tree.status(of: number).stored - status.stored <= 1)
    try fixture.check()
  }

  @Test("an open file that is rewritten page by page takes little more of the disk than it is long")
  func rewritten() throws {
    let pages = 512
    let page = 4096
    let fixture = try FileFixture([:], over: .file)
    let tree = fixture.tree
    let handle = try fixture.create("x.db").handle
    var random = SeededRandom(seed: 3)
    var text: [UInt8] = []
    for number in 0..<pages {
      let bytes = random.bytes(page)
      text += bytes
      try fixture.write(handle, bytes, at: UInt64(number * page))
    }
    let journal = fixture.directory.file("journal")
    for round in 0..<20 {
      for _ in 0..<pages * 2 {
        // One page of each round is never written again, so that each file of the journal stays.
        let number = round + 1 + Int(random.next() % UInt64(pages - round - 1))
        let bytes = random.bytes(page)
        text.replaceSubrange(number * page..<(number + 1) * page, with: bytes)
        try fixture.write(handle, bytes, at: UInt64(number * page))
      }
      let bytes = random.bytes(page)
      text.replaceSubrange(round * page..<(round + 1) * page, with: bytes)
      try fixture.write(handle, bytes, at: UInt64(round * page))
      _ = try tree.renewJournal()
      let used = try FileSystem.list(journal).reduce(UInt64(0)) {
        $0 + (try FileSystem.status("\(journal)/\($1)").allocated)
      }
      // The reserve, twice the pages, and a little of each file.
      #expect(used < UInt64(pages * page) * 10, "round \(round): \(used)")
    }
    #expect(try fixture.read(try fixture.number("x.db"), 4 << 20) == text)
    try fixture.check()
  }

  @Test("a hole is doubted while somebody has the file open for writing")
  func doubted() throws {
    let fixture = try FileFixture(["a": holed])
    let tree = fixture.tree
    let number = try fixture.number("a")
    let hole = try #require(try tree.seek(number, from: 0, toData: false).offset)
    #expect(try tree.seek(number, from: 0, toData: false).doubted == nil)
    let handle = try tree.open(number, mode: .write).handle
    let place = try tree.seek(number, from: hole, toData: true)
    #expect(place.doubted == hole..<(try #require(place.offset)))
    #expect(try tree.seek(number, from: 0, toData: false).doubted?.lowerBound == hole)
    #expect(try tree.seek(number, from: 5, toData: true).doubted == nil)
    try tree.release(handle)
    #expect(try tree.seek(number, from: hole, toData: true).doubted == nil)
  }

  @Test("a range is punched and reads as zeros", arguments: JournalKind.allCases)
  func punch(kind: JournalKind) throws {
    let fixture = try FileFixture(["a": Array("recorded".utf8)], over: kind)
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: .write).handle
    try fixture.tree.allocate(handle, range: 2..<5, zeroing: true, keepingSize: true)
    #expect(try fixture.read(number) == Array("re".utf8) + [0, 0, 0] + Array("ded".utf8))
    #expect(try fixture.tree.status(of: number).stored == 5)
    // Behind the end there is nothing to punch; the times move all the same.
    let before = try fixture.tree.status(of: number)
    try fixture.tree.allocate(handle, range: 100..<200, zeroing: true, keepingSize: true)
    let after = try fixture.tree.status(of: number)
    #expect(after.size == before.size && after.mtime > before.mtime)
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("room is given to blocks without bytes, counts, and goes when bytes come or the file ends")
  func room() throws {
    let fixture = try FileFixture()
    let tree = fixture.tree
    let (number, handle) = try fixture.create("a")
    func allocate(_ range: Range<UInt64>, keeps: Bool, room: UInt64 = 1 << 20) throws {
      try tree.allocate(handle, range: range, zeroing: false, keepingSize: keeps, room: room)
    }
    try allocate(0..<10_000, keeps: true)
    var status = try tree.status(of: number)
    #expect(status.size == 0 && status.stored == 12_288)
    try allocate(0..<10_000, keeps: false)
    status = try tree.status(of: number)
    #expect(status.size == 10_000 && status.stored == 12_288)
    #expect(tree.roomBytes == 12_288)
    try fixture.write(handle, [UInt8](repeating: 1, count: 5000))
    #expect(try tree.status(of: number).stored == 12_288)
    #expect(tree.roomBytes == 7288)
    expect(.noSpace) { try allocate(0..<100_000, keeps: true, room: 50_000) }
    #expect(tree.roomBytes == 7288)
    try tree.resize(number, to: 5000, through: handle)
    #expect(tree.roomBytes == 3192)
    // As on ext4, behind the end nothing is punched.
    try tree.allocate(handle, range: 0..<8192, zeroing: true, keepingSize: true)
    #expect(tree.roomBytes == 3192)
    try allocate(0..<4096, keeps: true)
    #expect(tree.roomBytes == 7288)
    try fixture.unlink("a")
    #expect(tree.roomBytes == 7288)
    tree.forget(number, count: 1)
    try tree.release(handle)
    #expect(tree.roomBytes == 0)
    try fixture.check()
  }

  @Test("zeroing with room makes a file reach to the range's end")
  func zeroRange() throws {
    let fixture = try FileFixture(["a": Array("recorded".utf8)])
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: .write).handle
    try fixture.tree.allocate(
      handle, range: 4..<12, zeroing: true, keepingSize: false, room: 1 << 20)
    #expect(try fixture.read(number) == Array("reco".utf8) + [UInt8](repeating: 0, count: 8))
    try fixture.check()
  }
}
