import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Writing files")
struct FileWritingTests {
  @Test("bytes are shown at once, short ones and long ones", arguments: JournalKind.allCases)
  func shown(kind: JournalKind) throws {
    let fixture = try FileFixture(over: kind)
    let (number, handle) = try fixture.create("a")
    let long = [UInt8].random(seed: 3, 1 << 20)
    try fixture.write(handle, long)
    #expect(try fixture.read(number, 2 << 20) == long)
    try fixture.write(handle, "short", at: 1000)
    #expect(
      try fixture.read(number, at: 998, 9) == long[998..<1000] + Array("short".utf8)
        + long[1005..<1007])
    try fixture.write(handle, [], at: 5_000_000)
    let status = try fixture.tree.status(of: number)
    #expect(status.size == 1 << 20 && status.stored == 1 << 20)
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("a file may reach to 2^56 bytes and not further")
  func limit() throws {
    let fixture = try FileFixture()
    let (number, handle) = try fixture.create("a")
    try fixture.write(handle, [7], at: 1 << 56 - 1)
    #expect(try fixture.tree.status(of: number).size == 1 << 56)
    #expect(try fixture.tree.status(of: number).stored == 1)
    expect(.fileTooBig) { try fixture.write(handle, [7, 7], at: 1 << 56 - 1) }
    expect(.fileTooBig) { try fixture.write(handle, [7], at: 1 << 63) }
    expect(.fileTooBig) { try fixture.tree.resize(number, to: 1 << 56 + 1) }
    #expect(throws: FSError.self) {
      try fixture.tree.allocate(
        handle, range: 0..<(1 << 56 + 1), zeroing: false, keepingSize: false)
    }
    try fixture.check()
  }

  @Test("a closed handle, one for reading, and what has no bytes of a user's are refused")
  func refused() throws {
    let fixture = try FileFixture(["a": [1], "d/a": [1]])
    let tree = fixture.tree
    let number = try fixture.number("a")
    let reader = try tree.open(number, mode: .read).handle
    expect(.stale) { try fixture.write(reader, [1]) }
    let writer = try tree.open(number, mode: .write).handle
    try tree.release(writer)
    expect(.stale) { try fixture.write(writer, [1]) }
    expect(.stale) { try tree.fsync(writer) }
    let directory = try fixture.number("d")
    expect(.isDirectory) { try tree.open(directory, mode: .read) }
    expect(.isDirectory) { try tree.open(.root, mode: .read) }
    expect(.isDirectory) { try tree.resize(directory, to: 0) }
    expect(.stale) { try tree.open(InodeNumber(1 << 39), mode: [.write, .truncate]) }
    let pipe = try fixture.create("p", kind: .fifo)
    expect(.invalid) { try tree.resize(pipe.number, to: 0) }
    expect(.invalid) { try fixture.write(pipe.handle, [1]) }
    try fixture.check()
  }

  @Test("what the journal refuses leaves everything as it was, at every call")
  func refusedByJournal() throws {
    let fixture = try FileFixture(["a": Array("recorded".utf8)])
    let tree = fixture.tree
    let journal = try #require(fixture.journal as? MemoryJournal)
    let number = try fixture.number("a")
    let handle = try tree.open(number, mode: [.read, .write]).handle
    let (other, otherHandle) = try fixture.create("b")
    try fixture.write(otherHandle, "bytes")
    let before = fixture.overlay
    let room = tree.roomBytes
    journal.refuse(with: .system(SystemError(errno: Errno.noSpace, call: "pwrite", subject: "j")))
    let calls: [() throws -> Void] = [
      { try fixture.write(handle, "x") },
      { try fixture.write(handle, [UInt8](repeating: 1, count: 100_000)) },
      { try tree.resize(number, to: 3) },
      { try tree.resize(number, to: 3, through: handle) },
      { _ = try tree.open(number, mode: [.write, .truncate]) },
      {
        try tree.allocate(handle, range: 0..<9000, zeroing: true, keepingSize: false, room: 1 << 20)
      },
      { try tree.flush(otherHandle) },
      { try tree.fsync(otherHandle) },
      { _ = try fixture.create("c") },
    ]
    for call in calls {
      let error = #expect(throws: FSError.self) { try call() }
      #expect(error?.isNoSpace == true)
      #expect(fixture.overlay == before)
      #expect(tree.roomBytes == room)
      #expect(try fixture.text(number) == "recorded")
      #expect(try fixture.text(other) == "bytes")
    }
    #expect(tree.state { $0.handles.isOpen(number) })
    journal.refuse(with: nil)
    // The flush that failed is made up for.
    try tree.flush(otherHandle)
    #expect(try fixture.savedText(other) == "bytes")
    try fixture.check()
  }

  @Test("on a full disk what is dead in data files makes room, and the call succeeds")
  func roomIsMade() throws {
    let fixture = try FileFixture(["a": Array("recorded".utf8)])
    let journal = try #require(fixture.journal as? MemoryJournal)
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: .write).handle
    try fixture.write(handle, "first")
    let full = StoreError.system(SystemError(errno: Errno.quota, call: "pwrite", subject: "j"))
    let calls: [() throws -> Void] = [
      { try fixture.write(handle, "again", at: 3) }, { try fixture.tree.resize(number, to: 7) },
      { try fixture.tree.flush(handle) }, { try fixture.tree.fsync(handle) },
    ]
    for call in calls {
      journal.refuse(with: full)
      journal.giveRoom()
      let before = LiveBytes(of: fixture.overlay)
      try call()
      #expect(journal.live?.merged == before.merged)
    }
    #expect(try fixture.savedText(number) == "firagai")
    journal.refuse(with: .system(SystemError(errno: Errno.inputOutput, call: "p", subject: "j")))
    journal.giveRoom()
    #expect(throws: FSError.self) { try fixture.write(handle, "x") }
    try fixture.check()
  }

  @Test("a symbolic link that first finds no room has its target when there is room")
  func roomForTarget() throws {
    let fixture = try FileFixture(over: .file)
    let (_, handle) = try fixture.create("a")
    try fixture.write(handle, [UInt8](repeating: 1, count: 2 << 20))
    try fixture.tree.allocate(handle, range: 100_000..<1_900_000, zeroing: true, keepingSize: true)
    let full = Faults.arm(
      Faults.Plan(
        calls: [.write], below: fixture.directory.file("journal"), times: 1,
        action: .fail(Errno.noSpace)))
    defer { Faults.disarm(full) }
    let target = Array("where it points".utf8)
    let link = try fixture.tree.makeSymlink(
      .root, FileName(Array("link".utf8)), target: target,
      caller: Caller(uid: 1000, gid: 1000))
    #expect(Faults.disarm(full) > 1)
    #expect(try fixture.tree.readlink(link.number) == target)
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("a release that cannot save closes the handle all the same")
  func releaseRefused() throws {
    let fixture = try FileFixture()
    let journal = try #require(fixture.journal as? MemoryJournal)
    let (number, handle) = try fixture.create("a")
    try fixture.write(handle, "bytes")
    journal.refuse(with: .system(SystemError(errno: Errno.noSpace, call: "pwrite", subject: "j")))
    #expect(throws: FSError.self) { try fixture.tree.release(handle) }
    #expect(!fixture.tree.state { $0.handles.isOpen(number) })
    journal.refuse(with: nil)
    #expect(fixture.tree.unsavedFiles == [number])
    #expect(try fixture.text(number) == "bytes")
    try fixture.check()
  }

  // MARK: - Sizes

  @Test(
    "a shorter size cuts bytes off, and a longer one brings zeros", arguments: JournalKind.allCases)
  func sizes(kind: JournalKind) throws {
    let fixture = try FileFixture(["a": Array("recorded".utf8)], over: kind)
    let number = try fixture.number("a")
    try fixture.tree.resize(number, to: 3)
    try fixture.tree.resize(number, to: 5)
    #expect(try fixture.read(number) == Array("rec".utf8) + [0, 0])
    let status = try fixture.tree.status(of: number)
    #expect(status.size == 5 && status.stored == 3)
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("emptying moves the times of an empty file too")
  func emptiedEmpty() throws {
    let fixture = try FileFixture(["a": []])
    let number = try fixture.number("a")
    let before = try fixture.tree.status(of: number)
    let handle = try fixture.tree.open(number, mode: [.write, .truncate]).handle
    let after = try fixture.tree.status(of: number)
    #expect(after.mtime > before.mtime && after.ctime > before.ctime)
    try fixture.tree.release(handle)
    try fixture.check()
  }

  @Test("an open for reading alone that empties the file saves it at once")
  func emptiedByReader() throws {
    let fixture = try FileFixture(["a": [1, 2]])
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: [.read, .truncate]).handle
    #expect(try fixture.saved(number) == [])
    #expect(try fixture.read(number) == [])
    try fixture.tree.release(handle)
    try fixture.check()
  }

  @Test("a file that was removed lives on for its handle, and goes with that")
  func removed() throws {
    let fixture = try FileFixture(["a": Array("recorded".utf8)])
    let tree = fixture.tree
    let number = try fixture.number("a")
    let handle = try tree.open(number, mode: [.read, .write]).handle
    try fixture.unlink("a")
    try fixture.write(handle, "R")
    #expect(try fixture.text(number) == "Recorded")
    #expect(try tree.status(of: number).links == 0)
    let again = try tree.open(number, mode: .read).handle
    try tree.release(handle)
    tree.forget(number, count: 1)
    #expect(try fixture.text(number) == "Recorded")
    #expect(tree.unsavedFiles == [])
    try fixture.check()
    try tree.release(again)
    #expect(fixture.overlay.nodes[number] == nil)
    try fixture.check()
  }
}
