import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Making, removing and renaming, over a recorded tree of a real store.
@Suite("Names", .timeLimit(.minutes(2)))
struct NameTests {
  let caller = Caller(uid: 1000, gid: 1000, umask: 0o022)

  private func name(_ text: String) -> FileName { FileName(Array(text.utf8)) }

  @Test("a file is made once, and found with its mode", arguments: JournalKind.allCases)
  func creates(kind: JournalKind) throws {
    let fixture = try FileFixture(["there": [1]], over: kind)
    let made = try fixture.tree.create(
      .root, name("new"), mode: 0o666, open: [.read, .write], caller: caller)
    #expect(made.status.mode == 0o644)
    #expect(made.status.links == 1)
    #expect(try fixture.number("new") == made.status.number)
    for taken in ["new", "there", ".llvs"] {
      expect(.exists) {
        try fixture.tree.makeDirectory(.root, name(taken), mode: 0o777, caller: caller)
      }
    }
    expect(.nameTooLong) {
      try fixture.tree.makeDirectory(
        .root, name(String(repeating: "x", count: 256)), mode: 0o777, caller: caller)
    }
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("a symbolic link has its target, and FIFOs and devices are what they are")
  func kinds() throws {
    let fixture = try FileFixture()
    let target = Array("over/there".utf8)
    let link = try fixture.tree.makeSymlink(.root, name("link"), target: target, caller: caller)
    #expect((link.kind, link.mode, link.size) == (.symlink, 0o777, UInt64(target.count)))
    #expect(try fixture.tree.readlink(link.number) == target)
    let device = Attributes.Device(major: 1, minor: 3)
    let null = try fixture.tree.makeNode(
      .root, name("null"), kind: .characterDevice, mode: 0o666, device: device, caller: caller)
    #expect(null.device == device)
    let pipe = try fixture.tree.makeNode(
      .root, name("pipe"), kind: .fifo, mode: 0o600, device: device, caller: caller)
    #expect(pipe.device != device)
    expect(.invalid) {
      try fixture.tree.makeNode(.root, name("no"), kind: .directory, mode: 0, caller: caller)
    }
    try fixture.check()
  }

  @Test("a directory with set-group-ID gives its group and the bit to what is made in it")
  func setGroupID() throws {
    let fixture = try FileFixture()
    let above = try fixture.tree.makeDirectory(
      .root, name("shared"), mode: 0o2775, caller: caller)
    let below = try fixture.tree.makeDirectory(
      above.number, name("below"), mode: 0o755, caller: caller)
    #expect(below.mode & 0o2000 != 0)
    let file = try fixture.tree.create(
      above.number, name("file"), mode: 0o644, open: .write, caller: caller)
    #expect(file.status.mode == 0o644)
  }

  @Test("names of the recorded tree are removed, directories when they are empty")
  func removes() throws {
    let fixture = try FileFixture(["d/one": [1], "d/two": [2], "file": [3]])
    let directory = try fixture.number("d")
    expect(.isDirectory) { try fixture.tree.unlink(.root, name("d")) }
    expect(.notDirectory) { try fixture.tree.removeDirectory(.root, name("file")) }
    expect(.notEmpty) { try fixture.tree.removeDirectory(.root, name("d")) }
    try fixture.tree.unlink(directory, name("one"))
    expect(.noEntry) { try fixture.tree.unlink(directory, name("one")) }
    expect(.notEmpty) { try fixture.tree.removeDirectory(.root, name("d")) }
    try fixture.tree.unlink(directory, name("two"))
    try fixture.tree.removeDirectory(.root, name("d"))
    expect(.noEntry) { try fixture.number("d") }
    expect(.noEntry) {
      try fixture.tree.makeDirectory(directory, name("late"), mode: 0o755, caller: caller)
    }
    try fixture.check()
  }

  @Test("a rename is refused for the reasons of rename(2)")
  func refusedRenames() throws {
    let fixture = try FileFixture(["a/b/c": [1], "file": [2], "full/x": [3]])
    let tree = fixture.tree
    let (a, full) = (try fixture.number("a"), try fixture.number("full"))
    let b = try tree.lookup(a, name("b")).number
    func place(_ directory: InodeNumber, _ text: String) -> InodeName {
      InodeName(directory: directory, name: name(text))
    }
    let root = { place(.root, $0) }
    expect(.noEntry) { try tree.rename(root("gone"), to: root("x"), mode: .replacing) }
    expect(.invalid) { try tree.rename(root("a"), to: place(b, "in"), mode: .replacing) }
    expect(.notEmpty) { try tree.rename(place(a, "b"), to: root("a"), mode: .replacing) }
    expect(.invalid) { try tree.rename(place(a, "b"), to: root("a"), mode: .exchange) }
    expect(.notDirectory) { try tree.rename(root("a"), to: root("file"), mode: .replacing) }
    expect(.isDirectory) { try tree.rename(root("file"), to: root("a"), mode: .replacing) }
    expect(.notEmpty) { try tree.rename(root("a"), to: root("full"), mode: .replacing) }
    expect(.exists) { try tree.rename(root("a"), to: root("file"), mode: .noReplace) }
    expect(.noEntry) { try tree.rename(root("a"), to: root("gone"), mode: .exchange) }
    expect(.readOnly) { try tree.rename(root("file"), to: root(".llvs"), mode: .replacing) }
    expect(.notDirectory) {
      try tree.rename(
        root("a"), to: place(try fixture.number("file"), "x"), mode: .replacing)
    }
    _ = full
    try fixture.check()
  }

  @Test(
    "what is renamed keeps its number, and what it replaces goes or lives on for who has it open")
  func renames() throws {
    let fixture = try FileFixture(["a/inner": [1], "file": [2], "other": [3]])
    let tree = fixture.tree
    let (file, other) = (try fixture.number("file"), try fixture.number("other"))
    let handle = try tree.open(other, mode: .read)
    try tree.rename(FileFixture.place("file"), to: FileFixture.place("other"), mode: .replacing)
    #expect(try fixture.number("other") == file)
    #expect(try fixture.read(other) == [3])
    #expect(try tree.status(of: other).links == 0)
    try tree.rename(FileFixture.place("a"), to: FileFixture.place("other"), mode: .exchange)
    let directory = try fixture.number("other")
    #expect(try tree.lookup(directory, name("inner")).size == 1)
    #expect(try fixture.number("a") == file)
    try fixture.check()
    try tree.release(handle.handle)
    tree.forget(other, count: 10)
    expect(.stale) { try tree.status(of: other) }
    try fixture.check()
  }

  @Test("a file has all its names, and goes with the last")
  func links() throws {
    let fixture = try FileFixture(["file": [1], "d/x": [2]])
    let tree = fixture.tree
    let file = try fixture.number("file")
    #expect(try tree.link(file, .root, name("second")).links == 2)
    #expect(try fixture.number("second") == file)
    expect(.exists) { try tree.link(file, .root, name("second")) }
    expect(.notPermitted) { try tree.link(try fixture.number("d"), .root, name("e")) }
    try tree.unlink(.root, name("file"))
    #expect(try tree.status(of: file).links == 1)
    try tree.unlink(.root, name("second"))
    expect(.noEntry) { try tree.link(file, .root, name("third")) }
    tree.forget(file, count: 10)
    expect(.stale) { try tree.link(file, .root, name("third")) }
    try fixture.check()
  }

  @Test("the link count of a directory counts its subdirectories, recorded and pending ones")
  func directoryLinks() throws {
    let fixture = try FileFixture(["a/b/x": [1], "a/c/x": [2], "a/file": [3]])
    let tree = fixture.tree
    func links(_ number: InodeNumber) throws -> UInt32 { try tree.status(of: number).links }
    let a = try fixture.number("a")
    #expect(try (links(.root), links(a)) == (3, 4))
    let new = try tree.makeDirectory(a, name("new"), mode: 0o755, caller: caller).number
    let inner = try tree.makeDirectory(new, name("inner"), mode: 0o755, caller: caller).number
    #expect(try (links(a), links(new), links(inner)) == (5, 3, 2))
    func place(_ directory: InodeNumber, _ text: String) -> InodeName {
      InodeName(directory: directory, name: name(text))
    }
    try tree.rename(place(a, "b"), to: place(new, "b"), mode: .replacing)
    #expect(try (links(a), links(new)) == (4, 4))
    try tree.rename(place(a, "c"), to: place(a, "file"), mode: .exchange)
    #expect(try links(a) == 4)
    try tree.rename(place(a, "new"), to: place(.root, "new"), mode: .replacing)
    #expect(try (links(.root), links(a)) == (4, 3))
    try tree.unlink(a, name("c"))
    try tree.removeDirectory(new, name("inner"))
    #expect(try (links(a), links(new), links(inner)) == (3, 3, 0))
    #expect(try tree.status(of: inner).size == 4096)
    try fixture.check()
  }

  @Test("a directory is empty when as many names were removed from it as it has")
  func emptiness() throws {
    let files = (0..<1300).map { ("d/file\($0)", [UInt8]()) }
    let fixture = try FileFixture(Dictionary(uniqueKeysWithValues: files))
    let directory = try fixture.number("d")
    for number in 0..<1300 {
      if number > 1295 {
        expect(.notEmpty) { try fixture.tree.removeDirectory(.root, name("d")) }
      }
      try fixture.tree.unlink(directory, name("file\(number)"))
    }
    let made = try fixture.tree.create(
      directory, name("file7"), mode: 0o644, open: .write, caller: caller)
    expect(.notEmpty) { try fixture.tree.removeDirectory(.root, name("d")) }
    try fixture.tree.release(made.handle)
    try fixture.tree.unlink(directory, name("file7"))
    try fixture.tree.removeDirectory(.root, name("d"))
    try fixture.check()
  }

  @Test("a directory goes nowhere where a path below it would be too long, recorded or pending")
  func reach() throws {
    // A version can hold 1,024 names in a path.
    let deep = Array(repeating: "d", count: 1000).joined(separator: "/")
    let fixture = try FileFixture(["top/\(deep)/x": [1], "low/a/b/c": [2], "file": [3]])
    let tree = fixture.tree
    func place(_ directory: InodeNumber, _ text: String) -> InodeName {
      InodeName(directory: directory, name: name(text))
    }
    var below = try fixture.number("low")
    for text in ["a", "b"] { below = try tree.lookup(below, name(text)).number }
    for number in 0..<30 {
      below = try tree.makeDirectory(below, name("n\(number)"), mode: 0o755, caller: caller).number
    }
    expect(.nameTooLong) {
      try tree.rename(place(.root, "top"), to: place(below, "top"), mode: .replacing)
    }
    // In exchange for a file it is the other one that goes down.
    let file = try tree.create(below, name("f"), mode: 0o644, open: .write, caller: caller)
    expect(.nameTooLong) {
      try tree.rename(place(below, "f"), to: place(.root, "top"), mode: .exchange)
    }
    expect(.nameTooLong) {
      try tree.rename(
        place(.root, "top"), to: place(.root, String(repeating: "x", count: 256)), mode: .replacing)
    }
    let long = String(repeating: "y", count: 255)
    for _ in 0..<60 {
      below = try tree.makeDirectory(below, name(long), mode: 0o755, caller: caller).number
    }
    try tree.rename(place(.root, "low"), to: place(.root, "l"), mode: .replacing)
    var at = try fixture.number("top")
    for _ in 0..<960 { at = try tree.lookup(at, name("d")).number }
    expect(.nameTooLong) {
      try tree.rename(place(.root, "l"), to: place(at, "l"), mode: .replacing)
    }
    try tree.rename(place(.root, "file"), to: place(at, "file"), mode: .replacing)
    try tree.release(file.handle)
    try fixture.check()
  }

  @Test("names that come and go move the times of the root directory, which keeps its attributes")
  func root() throws {
    let fixture = try FileFixture(["file": [1], "d/x": [2]])
    let tree = fixture.tree
    let before = try tree.status(of: .root)
    let made = try tree.makeDirectory(.root, name("new"), mode: 0o755, caller: caller)
    let after = try tree.status(of: .root)
    #expect((after.mtime, after.ctime) == (made.ctime, made.ctime))
    #expect(after.mtime > before.mtime)
    try tree.change { state, base throws(FSError) in
      var attributes = try tree.attributes(of: .root, state, base)
      attributes.mode = 0o700
      return WorkingTree.Decision(
        concerned: [.root], operations: [.attributes(.root, attributes)]
      ) { _ in }
    }
    let directory = try fixture.number("d")
    try tree.change { state, base throws(FSError) in
      var attributes = try tree.attributes(of: directory, state, base)
      attributes.mode = 0o711
      return WorkingTree.Decision(
        concerned: [directory], operations: [.attributes(directory, attributes)]
      ) { _ in }
    }
    try fixture.check()
    // Other heads take nothing of it.
    try fixture.follow(["more": [3]])
    try fixture.follow(["more": nil])
    #expect(try tree.status(of: .root).mode == 0o700)
    #expect(try tree.status(of: directory).mode == 0o711)
    #expect(try tree.status(of: .root).mtime >= after.mtime)
    try fixture.check()
  }

  @Test("the times of a directory never go back, also where nothing is pending in it any more")
  func timesStay() throws {
    let fixture = try FileFixture(["d/x": [1]])
    let directory = try fixture.number("d")
    for number in [directory, .root] {
      let place = InodeName(directory: number, name: name("new"))
      let made = try fixture.tree.create(
        number, place.name, mode: 0o644, open: .write, caller: caller)
      try fixture.tree.release(made.handle)
      try fixture.tree.unlink(number, place.name)
    }
    let before = try [directory, .root].map { try fixture.tree.status(of: $0).mtime }
    try fixture.follow(["d/x": [2]])
    let after = try [directory, .root].map { try fixture.tree.status(of: $0).mtime }
    #expect(zip(before, after).allSatisfy { $0 <= $1 })
    try fixture.check()
  }

  @Test("a file that is made in a set-group-ID root gets its group")
  func rootGroup() throws {
    let fixture = try FileFixture()
    try fixture.tree.change { state, base throws(FSError) in
      WorkingTree.Decision(
        concerned: [.root], operations: [.attributes(.root, Attributes(mode: 0o2775))]
      ) { _ in }
    }
    let made = try fixture.tree.makeDirectory(.root, name("d"), mode: 0o755, caller: caller)
    #expect(made.mode == 0o2755)
    try fixture.check()
  }

  @Test("all times of one call are one time")
  func oneTime() throws {
    let fixture = try FileFixture()
    for number in 0..<50 {
      let made = try fixture.tree.create(
        .root, name("new\(number)"), mode: 0o644, open: .write, caller: caller)
      #expect(made.status.mtime == made.status.ctime)
    }
  }

  @Test("what the journal refuses has not happened")
  func refused() throws {
    let fixture = try FileFixture(["file": [1], "d/x": [2]])
    let journal = try #require(fixture.journal as? MemoryJournal)
    let before = fixture.overlay
    journal.refuse(with: .noSpace("the disk is full"))
    expect(.store(.noSpace("the disk is full"))) {
      try fixture.tree.makeDirectory(.root, name("new"), mode: 0o755, caller: caller)
    }
    for call in [
      { try fixture.tree.unlink(.root, name("file")) },
      {
        try fixture.tree.rename(
          FileFixture.place("file"), to: FileFixture.place("e"), mode: .replacing)
      },
    ] {
      expect(.store(.noSpace("the disk is full"))) { try call() }
    }
    #expect(fixture.overlay == before)
    journal.refuse(with: nil)
    try fixture.tree.unlink(.root, name("file"))
    try fixture.check()
  }
}
