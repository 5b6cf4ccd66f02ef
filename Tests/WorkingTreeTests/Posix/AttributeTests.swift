import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Changing attributes, over a recorded tree of a real store.
@Suite("Attributes", .timeLimit(.minutes(2)))
struct AttributeTests {
  private let caller = Caller(uid: 1000, gid: 1000, umask: 0o022)

  private func name(_ text: String) -> FileName { FileName(Array(text.utf8)) }

  private func time(_ seconds: Int64) -> Attributes.Time {
    Attributes.Time(seconds: seconds, nanoseconds: 7)
  }

  private func change(_ set: (inout StatusChange) -> Void) -> StatusChange {
    var change = StatusChange()
    set(&change)
    return change
  }

  @Test("each attribute changes by itself, and the ctime with it", arguments: JournalKind.allCases)
  func single(kind: JournalKind) throws {
    let fixture = try FileFixture(["file": [1, 2], "d/x": [3]], over: kind)
    let cases: [(StatusChange, (inout InodeStatus) -> Void)] = [
      (change { $0.mode = 0o100640 }, { $0.mode = 0o640 }),
      (change { $0.mtime = time(5) }, { $0.mtime = time(5) }),
      (change { $0.atime = time(6) }, { $0.atime = time(6) }),
      (change { $0.mode = 0o7777 }, { $0.mode = 0o7777 }),
      (
        change { ($0.mtime, $0.atime) = (time(-8), time(9)) },
        { ($0.mtime, $0.atime) = (time(-8), time(9)) }
      ),
      (change { $0.lostSetIDs = 0o6000 }, { $0.mode = 0o1777 }),
      (change { ($0.uid, $0.gid) = (1000, 1000) }, { _ in }),
      (change { $0.movesChangeTime = true }, { _ in }),
    ]
    for file in ["file", "d"] {
      let number = try fixture.number(file)
      for (change, expect) in cases {
        let before = try fixture.tree.status(of: number)
        let after = try fixture.tree.setattr(number, change)
        var expected = before
        expect(&expected)
        // A reader of the times never sees the access time move with the mtime.
        if change.atime == nil { expected.atime = before.atime }
        #expect(after.ctime > before.ctime, "\(change)")
        expected.ctime = after.ctime
        #expect(after == expected, "\(file) \(change)")
        #expect(try fixture.tree.status(of: number) == after)
      }
      let before = try fixture.tree.status(of: number)
      #expect(try fixture.tree.setattr(number, StatusChange()) == before)
    }
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("an ordinary user's tree has one owner, root's keeps others")
  func owners() throws {
    let own = try FileFixture(["file": [1]])
    let number = try own.number("file")
    for change in [change { $0.uid = 0 }, change { ($0.gid, $0.mode) = (7, 0o600) }] {
      expect(.notPermitted) { try own.tree.setattr(number, change) }
    }
    #expect(own.overlay == Overlay())
    let root = try FileFixture(["file": [1]], by: 0)
    let file = try root.number("file")
    var status = try root.tree.setattr(file, change { $0.uid = 7 })
    #expect((status.uid, status.gid) == (7, 0))
    status = try root.tree.setattr(file, change { ($0.uid, $0.gid) = (0, 8) })
    #expect((status.uid, status.gid) == (0, 8))
    #expect(try root.node(file).attributes.uid == nil)
    // Bits that act in the name of an owner name him.
    _ = try root.tree.setattr(file, change { $0.mode = 0o4755 })
    #expect(try root.node(file).attributes.uid == 0)
    try root.check()
  }

  @Test("a truncation has the clock's time, or the one that comes with it")
  func truncation() throws {
    let fixture = try FileFixture(["a": [1, 2], "b": [1, 2], "d/x": [1]])
    let (a, b) = (try fixture.number("a"), try fixture.number("b"))
    let asked = change { ($0.size, $0.mtime, $0.mtimeIsNow, $0.mode) = (1, time(4), true, 0o600) }
    let status = try fixture.tree.setattr(a, asked)
    #expect(status.mtime == status.ctime && status.mtime != time(4))
    #expect((status.size, status.mode) == (1, 0o600))
    #expect(try !fixture.node(a).hasSetTime)
    #expect(try fixture.file(a).saved?.mtime == status.mtime)
    let named = try fixture.tree.setattr(b, change { ($0.size, $0.mtime) = (1, time(4)) })
    #expect(named.mtime == time(4) && named.ctime != time(4))
    #expect(try fixture.file(b).saved?.mtime == time(4))
    #expect(try fixture.file(b).saved?.hasSetTime == true)
    let directory = try fixture.number("d")
    let before = fixture.overlay
    expect(.isDirectory) {
      try fixture.tree.setattr(directory, change { ($0.size, $0.mode) = (0, 0o700) })
    }
    expect(.fileTooBig) { try fixture.tree.setattr(a, change { $0.size = 1 << 57 }) }
    #expect(fixture.overlay == before)
    try fixture.check()
  }

  @Test("a truncation through a handle is saved by its close, with what came after it")
  func handle() throws {
    let fixture = try FileFixture(["file": [1, 2]])
    let number = try fixture.number("file")
    let handle = try fixture.tree.open(number, mode: .write).handle
    _ = try fixture.tree.setattr(number, change { $0.size = 1 }, through: handle)
    #expect(try fixture.saved(number) == nil)
    _ = try fixture.tree.setattr(number, change { $0.mtime = time(3) })
    try fixture.tree.flush(handle)
    #expect(try fixture.saved(number) == [1])
    #expect(try fixture.file(number).saved?.mtime == time(3))
    try fixture.tree.release(handle)
    try fixture.check()
  }

  @Test("set-id bits are lost by changes of others, but for the group's mark of its members")
  func setIDs() throws {
    let fixture = try FileFixture(["file": [1], "d/x": [2]], by: 0)
    let (file, directory) = (try fixture.number("file"), try fixture.number("d"))
    let cases: [(mode: UInt32, isMember: Bool, lost: UInt32)] = [
      (0o755, false, 0), (0o4755, false, 0o4000), (0o4755, true, 0o4000),
      (0o6755, true, 0o6000), (0o2755, true, 0o2000), (0o2745, true, 0), (0o2745, false, 0o2000),
    ]
    for (mode, isMember, lost) in cases {
      _ = try fixture.tree.setattr(file, change { ($0.mode, $0.gid) = (mode, 8) })
      var asked: [UInt32] = []
      let found = try fixture.tree.setIDsLost(file) { group in
        asked.append(group)
        return isMember
      }
      #expect(found == lost, "\(String(mode, radix: 8)) \(isMember)")
      #expect(asked.allSatisfy { $0 == 8 })
      #expect(try fixture.tree.clearMode(found, of: file).mode == mode & ~lost)
    }
    _ = try fixture.tree.setattr(directory, change { $0.mode = 0o6755 })
    #expect(try fixture.tree.setIDsLost(directory) { _ in false } == 0)
    expect(.stale) { try fixture.tree.setIDsLost(InodeNumber(1 << 39)) { _ in true } }
    try fixture.check()
  }

  @Test("a time that nobody recorded stays when other things change")
  func steadyTime() throws {
    let fixture = try FileFixture(["a": [1], "b": [2], "d/x": [3]])
    for file in ["a", "b", "d"] {
      let number = try fixture.number(file)
      let before = try fixture.tree.status(of: number)
      if file == "b" {
        try fixture.tree.rename(
          FileFixture.place("b"), to: FileFixture.place("c"), mode: .replacing)
      } else {
        _ = try fixture.tree.setattr(number, change { $0.mode = 0o700 })
      }
      let after = try fixture.tree.status(of: number)
      #expect(after.mtime == before.mtime && after.ctime > before.ctime, "\(file)")
      #expect(try !fixture.node(number).hasSetTime, "\(file)")
    }
    try fixture.check()
  }

  @Test("a time that is set counts also if it is the one that was shown")
  func equalTime() throws {
    let fixture = try FileFixture(["file": [1]], over: .file)
    let number = try fixture.number("file")
    let shown = try fixture.tree.status(of: number).mtime
    _ = try fixture.tree.setattr(number, change { $0.mtime = shown })
    #expect(try fixture.node(number).hasSetTime)
    try fixture.checkRestart()
  }

  @Test("attributes of a file without a name are shown and pending for nobody")
  func orphan() throws {
    let fixture = try FileFixture(["file": [1]])
    let number = try fixture.number("file")
    let handle = try fixture.tree.open(number, mode: .read).handle
    try fixture.tree.unlink(.root, name("file"))
    #expect(try fixture.tree.setattr(number, change { $0.mode = 0o600 }).mode == 0o600)
    #expect(try !fixture.node(number).isPending)
    try fixture.check()
    fixture.tree.forget(number, count: 10)
    try fixture.tree.release(handle)
    expect(.stale) { try fixture.tree.setattr(number, change { $0.mode = 0o600 }) }
    try fixture.check()
  }

  @Test("the root directory has attributes as others have", arguments: JournalKind.allCases)
  func root(kind: JournalKind) throws {
    let fixture = try FileFixture(["file": [1]], over: kind)
    let before = try fixture.tree.status(of: .root)
    let changed = try fixture.tree.setattr(.root, change { $0.mode = 0o1700 })
    #expect(changed.mode == 0o1700 && changed.ctime > before.ctime)
    #expect(changed.mtime == before.mtime)
    #expect(try fixture.tree.setattr(.root, change { $0.mtime = time(5) }).mtime == time(5))
    let attribute = Array("user.x".utf8)
    try fixture.tree.setxattr(.root, attribute, [1])
    #expect(try fixture.tree.getxattr(.root, attribute) == [1])
    #expect(try fixture.tree.status(of: .root).mode == 0o1700)
    #expect(try fixture.tree.setIDsLost(.root) { _ in false } == 0)
    #expect(try fixture.tree.statedPlace(of: .root).path == .root)
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("what the journal refuses leaves attributes, times and sizes as they were")
  func refused() throws {
    let fixture = try FileFixture(["file": [1, 2]])
    let number = try fixture.number("file")
    _ = try fixture.tree.setattr(number, change { ($0.mode, $0.atime) = (0o640, time(1)) })
    let (before, overlay) = (try fixture.tree.status(of: number), fixture.overlay)
    let journal = try #require(fixture.journal as? MemoryJournal)
    journal.refuse(with: .noSpace("the disk is full"))
    for asked in [
      change { $0.mode = 0o600 }, change { ($0.size, $0.mode) = (0, 0o600) },
      change { ($0.mtime, $0.atime) = (time(2), time(3)) },
    ] {
      expect(.store(.noSpace("the disk is full"))) { try fixture.tree.setattr(number, asked) }
      #expect(try fixture.tree.status(of: number) == before)
      #expect(fixture.overlay == overlay)
    }
  }

  @Test(
    "Whatever is set and removed at random, attributes are what plain values are",
    arguments: JournalKind.allCases)
  func lives(kind: JournalKind) throws {
    for seed in UInt64(0)..<20 {
      var life = try AttributeLife(seed: seed, over: kind)
      for _ in 0..<60 {
        try life.act()
        try life.check()
      }
      try life.fixture.checkRestart("seed \(seed)")
    }
  }
}
