import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("What the writer of a file had seen")
struct WriterEpochTests {
  private func reason(_ fixture: FileFixture, _ number: InodeNumber) throws -> Orphan? {
    try fixture.node(number).orphan
  }

  private func epoch(_ fixture: FileFixture, _ number: InodeNumber) throws -> Epoch? {
    guard case .detached(_, _, let epoch)? = try reason(fixture, number) else { return nil }
    return epoch
  }

  @Test("a file that a head gives other bytes lives on for its handles, with the epoch before")
  func detached() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: [.read, .write]).handle
    try fixture.follow(["a": Array("theirs".utf8)])
    let other = try fixture.number("a")
    #expect(other != number)
    #expect(try fixture.text(other) == "theirs")
    #expect(try fixture.text(number) == "old")
    try fixture.write(handle, "OUR")
    try fixture.tree.flush(handle)
    #expect(try fixture.savedText(number) == "OUR")
    #expect(try epoch(fixture, number) == Epoch(1))
    #expect(fixture.tree.unsavedFiles == [])
    try fixture.check()
    // What is saved in it belongs to its name, so it stays.
    fixture.tree.forget(number, count: 1)
    try fixture.tree.release(handle)
    #expect(try fixture.savedText(number) == "OUR")
    try fixture.check()
  }

  @Test("a file that a head removes goes with its last handle, if nothing is saved in it")
  func removed() throws {
    let fixture = try FileFixture(["a": Array("old".utf8), "b": [1]])
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: .read).handle
    fixture.tree.forget(number, count: 1)
    try fixture.follow(["a": nil])
    expect(.noEntry) { try fixture.number("a") }
    #expect(try fixture.text(number) == "old")
    try fixture.check()
    try fixture.tree.release(handle)
    expect(.stale) { try fixture.read(number) }
    try fixture.check()
  }

  @Test("handles of a file that lost its name write on the version before that, then on their save")
  func opened() throws {
    let fixture = try FileFixture(["a": Array("old".utf8), "b": [1]])
    let tree = fixture.tree
    let number = try fixture.number("a")
    let early = try tree.open(number, mode: [.read, .write]).handle
    try fixture.follow(["b": [2]])
    let late = try tree.open(number, mode: [.read, .write]).handle
    try fixture.follow(["a": Array("theirs".utf8)])
    #expect(try epoch(fixture, number) == Epoch(2))
    try fixture.write(late, "1")
    try fixture.write(early, "2")
    try tree.flush(early)
    try fixture.takeDetached(number, as: Epoch(9))
    #expect(try !fixture.node(number).isPending)
    try fixture.write(early, "3")
    #expect(try epoch(fixture, number) == Epoch(9))
    try fixture.check()
  }

  @Test("a handle of a file at its name goes on with what that shows, however long it is open")
  func attached() throws {
    let fixture = try FileFixture(["a": Array("old".utf8), "b": [1]])
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: [.read, .write]).handle
    try fixture.follow(["b": [2]])
    try fixture.write(handle, "x")
    #expect(try fixture.node(number).on == nil)
    try fixture.follow(["b": [3]])
    try fixture.write(handle, "y")
    #expect(try fixture.node(number).on == nil)
    // What is pending stays on the version before the head that changed the name.
    try fixture.follow(["a": Array("theirs".utf8)])
    let change = try #require(fixture.overlay.changes[FileFixture.place("a")])
    #expect(change.inode == number && change.on == Epoch(3))
    try fixture.follow(["a": Array("others".utf8)])
    #expect(fixture.overlay.changes[FileFixture.place("a")]?.on == Epoch(3))
    try fixture.check()
  }

  @Test("attributes that a head changes leave pending bytes behind")
  func attributes() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: [.read, .write]).handle
    try fixture.write(handle, "x")
    try fixture.tree.flush(handle)
    try fixture.give(["a": Attributes(mode: 0o600)])
    #expect(try fixture.number("a") == number)
    #expect(try fixture.node(number).on == Epoch(1))
    #expect(try #require(fixture.node(number).file?.saved).on == Epoch(1))
    try fixture.check()
  }

  @Test("a removal here of the name that a file lost makes the file belong nowhere")
  func givenAway() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: [.read, .write]).handle
    try fixture.follow(["a": Array("theirs".utf8)])
    try fixture.write(handle, "x")
    #expect(fixture.tree.unsavedFiles == [number])
    try fixture.unlink("a")
    #expect(try reason(fixture, number) == .gone)
    #expect(fixture.tree.unsavedFiles == [])
    try fixture.tree.release(handle)
    fixture.tree.forget(number, count: 1)
    #expect(fixture.overlay.nodes[number] == nil)
    try fixture.check()
  }
}
