import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("What processes had seen that hold no handle")
struct WriterMemoryTests {
  /// A process that lives as long as the test.
  private let editor = SystemProcess.id

  private func read(_ fixture: FileFixture, _ number: InodeNumber, by process: Int32) throws {
    let handle = try fixture.tree.open(number, mode: .read, process: process).handle
    try fixture.tree.release(handle)
  }

  @Test(
    "who empties or cuts a file has seen what it opened for reading there, over a head that replaced it"
  )
  func emptied() throws {
    for call in 0..<3 {
      let fixture = try FileFixture(["a": Array("old".utf8)])
      try read(fixture, try fixture.number("a"), by: editor)
      try fixture.follow(["a": Array("theirs".utf8)])
      let number = try fixture.number("a")
      switch call {
      case 0: _ = try fixture.tree.open(number, mode: [.write, .truncate], process: editor)
      case 1: try fixture.tree.resize(number, to: 2, process: editor)
      default: _ = try fixture.tree.open(number, mode: [.read, .truncate], process: editor)
      }
      #expect(try fixture.node(number).on == Epoch(1), "call \(call)")
      try fixture.check()
    }
  }

  @Test("who read the newer bytes, never read, or makes the file longer has seen the head")
  func notStale() throws {
    for call in 0..<3 {
      let fixture = try FileFixture(["a": Array("old".utf8)])
      try read(fixture, try fixture.number("a"), by: editor)
      try fixture.follow(["a": Array("theirs".utf8)])
      let number = try fixture.number("a")
      if call == 0 { try read(fixture, number, by: editor) }
      switch call {
      case 2: try fixture.tree.resize(number, to: 20, process: editor)
      default: try fixture.tree.resize(number, to: 2, process: call == 0 ? editor : 1)
      }
      #expect(try fixture.node(number).on == nil, "call \(call)")
    }
  }

  @Test("a handle cuts a file on what its process had seen, unless it read the file first")
  func throughHandle() throws {
    for reads in [false, true] {
      let fixture = try FileFixture(["a": Array("old".utf8)])
      try read(fixture, try fixture.number("a"), by: editor)
      try fixture.follow(["a": Array("theirs".utf8)])
      let number = try fixture.number("a")
      let opened = try fixture.tree.open(number, mode: [.read, .write], process: editor)
      #expect(opened.dropsPages)
      if reads { fixture.tree.noteRead(opened.handle) }
      try fixture.tree.resize(number, to: 0, through: opened.handle)
      #expect(try fixture.node(number).on == (reads ? nil : Epoch(1)))
      #expect(try !fixture.tree.open(number, mode: [.read, .write], process: 1).dropsPages)
    }
  }

  @Test("a process that began later has seen nothing of what an earlier one of its number read")
  func earlierProcess() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let number = try fixture.number("a")
    // Before this process began.
    fixture.tree.state { $0.writers.note(editor, reading: number, at: 1) }
    try fixture.follow(["a": Array("theirs".utf8)])
    try fixture.tree.resize(try fixture.number("a"), to: 2, process: editor)
    #expect(try fixture.node(try fixture.number("a")).on == nil)
  }

  @Test(
    "what a name was given to after it was left is on what was seen there; of nothing, only where a version has something"
  )
  func names() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let place = FileFixture.place("a")
    try read(fixture, try fixture.number("a"), by: editor)
    try fixture.follow(["a": Array("theirs".utf8)])
    let number = try fixture.number("a")
    func seen(_ process: Int32, over: InodeNumber?) -> Epoch? {
      fixture.tree.state { $0.seen(by: process, at: place, over: over) }
    }
    #expect(seen(editor, over: number) == Epoch(1))
    #expect(seen(1, over: number) == nil)
    #expect(seen(editor, over: nil) == nil)
    // An editor puts the old file aside.
    try fixture.unlink("a")
    #expect(seen(editor, over: nil) == Epoch(1))
    let (made, handle) = try fixture.create("a", process: editor)
    // It knows what it made.
    #expect(seen(editor, over: made) == nil)
    try fixture.tree.release(handle)
    try fixture.check()
  }

  @Test(
    "who makes a name, moves, links or exchanges a file there has the name on what it saw there")
  func calls() throws {
    let (root, a) = (InodeNumber.root, FileName(Array("a".utf8)))
    let place = FileFixture.place("a")
    for call in 0..<4 {
      let fixture = try FileFixture(["a": Array("old".utf8), "b": [1]])
      let tree = fixture.tree
      try read(fixture, try fixture.number("a"), by: editor)
      try fixture.follow(["a": Array("theirs".utf8)])
      if call < 2 { try tree.unlink(root, a, process: editor) }
      switch call {
      case 0:
        _ = try tree.create(
          root, a, mode: 0o644, open: .write, caller: Caller(uid: 0, gid: 0, process: editor))
      case 1: _ = try tree.link(try fixture.number("b"), root, a, process: editor)
      case 2:
        try tree.rename(FileFixture.place("b"), to: place, mode: .replacing, process: editor)
      default:
        try tree.rename(FileFixture.place("b"), to: place, mode: .exchange, process: editor)
      }
      let change = try #require(fixture.overlay.changes[place])
      #expect(change.on == Epoch(1), "call \(call)")
      if call == 3 {
        #expect(try #require(fixture.overlay.changes[FileFixture.place("b")]).on == nil)
      }
      try fixture.check()
    }
  }

  @Test("a head that changes another name leaves no process behind")
  func otherName() throws {
    let fixture = try FileFixture(["a": Array("old".utf8), "b": [1]])
    let number = try fixture.number("a")
    try read(fixture, number, by: editor)
    try fixture.follow(["b": [2]])
    let handle = try fixture.tree.open(number, mode: [.write, .truncate], process: editor).handle
    #expect(try fixture.node(number).on == nil)
    try fixture.write(handle, "new")
    try fixture.tree.release(handle)
    try fixture.take(["a"])
    try fixture.tree.resize(number, to: 0, process: editor)
    #expect(try fixture.node(number).on == nil)
    try fixture.check()
  }

  @Test("a process goes on from its own save, until a head changes the name again")
  func consumed() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    try read(fixture, try fixture.number("a"), by: editor)
    try fixture.follow(["a": Array("theirs".utf8)])
    let number = try fixture.number("a")
    try fixture.tree.resize(number, to: 0, process: editor)
    #expect(try fixture.node(number).on == Epoch(1))
    fixture.tree.state { #expect($0.seen(by: editor, at: [FileFixture.place("a")]) == nil) }
    fixture.tree.state { $0.writers.leaveBehind(FileFixture.place("a"), number, on: Epoch(5)) }
    fixture.tree.state { #expect($0.seen(by: editor, at: [FileFixture.place("a")]) == Epoch(5)) }
  }

  @Test("a head that has again what a process saw brings it up to date")
  func broughtBack() throws {
    let place = FileFixture.place("a")
    var memory = WriterMemory()
    memory.note(7, reading: InodeNumber(20), at: 3)
    memory.leaveBehind(place, InodeNumber(20), on: Epoch(1))
    memory.leaveBehind(place, InodeNumber(21), on: Epoch(2))
    #expect(memory.mark(7, at: place) == Epoch(1))
    memory.bringBack(place, InodeNumber(22)) { $0 == Epoch(1) }
    #expect(memory.mark(7, at: place) == nil)
    memory.leaveBehind(place, InodeNumber(22), on: Epoch(3))
    #expect(memory.mark(7, at: place) == Epoch(3))
  }

  @Test("twenty thousand pairs are remembered, marks longer than others, and memory is bounded")
  func bounded() {
    typealias Pairs = RecentPairs<InodeNumber, Int>
    let limit = UInt64(Pairs.limit)
    var memory = WriterMemory()
    let place = FileFixture.place("a")
    memory.note(8, reading: InodeNumber(1), at: 5)
    memory.leaveBehind(place, InodeNumber(1), on: Epoch(4))
    var pairs = Pairs()
    for number in 0..<100_000 {
      pairs.set(number, 7, at: InodeNumber(UInt64(number)))
      memory.note(7, reading: InodeNumber(UInt64(number)), at: 5)
    }
    #expect(pairs.count <= 2 * Int(limit) && memory.count <= 2 * Int(limit) + 2)
    let last = (100_000 - Int(limit))..<100_000
    #expect(last.allSatisfy { pairs.value(7, at: InodeNumber(UInt64($0))) == $0 })
    #expect(pairs.value(7, at: InodeNumber(0)) == nil)
    #expect(memory.mark(8, at: place) == Epoch(4))
    memory.began(8, at: 6)
    #expect(memory.mark(8, at: place) == nil)
    memory.forgetAll()
    #expect(memory.count == 0)
  }
}
