import Inodes
import LLVSCore
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// The rules that random work meets seldom.
@Suite
struct RecorderRuleTests {
  @Test("A directory without an entry gets one when the last name in it is removed")
  func emptied() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["d/x": 1, "e": 2])
    try work.cut(seenBefore: false) { life in
      let place = life.place("d/x")
      try life.perform(
        .unlink(place, of: life.number("d/x"), isKept: false),
        on: [life.number("d/x"), place.directory])
    }
    #expect(try work.headMap() == ["d/": .directory, "e": ModelValue(marks: [2])])
  }

  @Test(
    "A file that takes a directory's name leaves the value behind it under the name it is shown by")
  func displaced() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["a": 1, "a/x": 2])
    try work.cut(seenBefore: false) { life in
      let (file, directory) = (life.place("a/x"), life.place("a"))
      let numbers = [life.number("a/x"), life.number("a")]
      try life.perform(.unlink(file, of: numbers[0], isKept: false), on: numbers)
      try life.perform(.rmdir(directory, of: numbers[1]), on: numbers)
      try life.create("a", life.shown())
      try life.perform(.save(life.number("a")), on: [])
    }
    let made = try work.headMap()
    #expect(made["a"] == ModelValue(marks: [3]))
    #expect(made["%llvs%a"] == ModelValue(marks: [1]))
    #expect(made.count == 2)
  }

  @Test("The same bytes, written again, make no version")
  func sameBytes() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["f": 1])
    let before = try work.headMap()
    try work.cut(seenBefore: false) { life in
      let number = life.number("f")
      try life.perform(.resize(number, to: 0, [], seen: nil), on: [number])
      let extent = Extent(start: 0, length: Mark.length, offset: 0, source: 1)
      try life.perform(.write(number, extent, [], seen: nil), on: [number])
      try life.perform(.save(number), on: [])
    }
    #expect(try work.headMap() == before)
    #expect(work.versions == 1)
  }

  @Test("Bytes of a saved file that cannot be read are left out and named, and the rest is taken")
  func unreadable() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["f": 1])
    let (recording, _) = try work.take(withoutMarks: [7]) { life in
      var content = FileContent()
      content.write(Extent(start: 0, length: Mark.length, offset: 0, source: 7))
      let lost = life.allot()
      try life.perform(
        .create(
          lost, at: life.place("lost"), kind: .regular, attributes: Attributes(),
          content: content, isSaved: true, seen: nil), on: [.root])
      try life.create("new", life.shown())
      try life.perform(.save(life.number("new")), on: [])
    }
    #expect(recording.unreadable == [TreePath(Array("lost".utf8))])
    #expect(Set(try work.headMap().keys) == ["f", "new"])
  }

  @Test("Bytes that no save has and that cannot be read are left out, and the rest is taken")
  func unreadableWithoutSave() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["f": 1])
    let (recording, _) = try work.take(withoutMarks: [7]) { life in
      var content = FileContent()
      content.write(Extent(start: 0, length: Mark.length, offset: 0, source: 7))
      // A version took the bytes once, and the recorded tree has lost the file since.
      let number = life.allot()
      life.apply(
        .node(
          number,
          PendingNode(
            kind: .regular, attributes: Attributes(), changed: .zero,
            file: PendingFile(content: content), names: [life.place("old")], stamp: .start)))
      try life.perform(
        .rename(
          number, from: life.place("old"), to: life.place("kept"), over: nil, isKept: false,
          seen: nil), on: [.root])
      try life.create("new", life.shown())
      try life.perform(.save(life.number("new")), on: [])
    }
    #expect(recording.unreadable == [TreePath(Array("kept".utf8))])
    #expect(Set(try work.headMap().keys) == ["f", "new"])
  }

  @Test("Ignored names stay pending, and names that the recorded tree has are never ignored")
  func ignored() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["old.o": 1])
    let (recording, _) = try work.take(ignoring: "*.o\n") { life in
      for path in ["new.o", "new.c", "old.o"] {
        try life.create(path, life.shown())
        try life.perform(.save(life.number(path)), on: [])
      }
    }
    #expect(recording.ignored.map(\.name) == [FileName(Array("new.o".utf8))])
    let made = try work.headMap()
    #expect(Set(made.keys) == ["old.o", "new.c"])
    #expect(made["old.o"] != ModelValue(marks: [1]))
  }

  @Test("A directory that the recorded tree has is taken when it moves to an ignored name")
  func movedToIgnored() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["d/x": 1])
    let (recording, _) = try work.take(ignoring: "*.o\n") { life in
      let number = life.number("d")
      try life.perform(
        .rename(
          number, from: life.place("d"), to: life.place("d.o"), over: nil, isKept: false,
          seen: nil), on: [number, .root])
    }
    #expect(recording.ignored.isEmpty)
    #expect(try work.headMap()["d.o/x"] == ModelValue(marks: [1]))
  }

  @Test("A time that was set is recorded with bytes that stay")
  func setTime() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["f": 1])
    let time = Attributes.Time(seconds: 1_000, nanoseconds: 5)
    _ = try work.take { life in
      let number = life.number("f")
      for binding in try life.overlay.bindings(of: [number], over: life.recorded) {
        life.apply(binding)
      }
      var attributes = try #require(life.overlay.nodes[number]).attributes
      attributes.mtime = time
      life.apply(.attributes(number, attributes))
    }
    #expect(try work.entry("f")?.attributes.mtime == time)
    #expect(try work.headMap()["f"] == ModelValue(marks: [1]))
  }

  @Test("Long extended attributes stay when the mode changes, and are new when they are set")
  func longAttributes() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["f": 1])
    let long = Attributes.Extended(
      name: Array("user.long".utf8), value: [UInt8](repeating: 9, count: 4_000))
    func change(_ edit: (inout Attributes) -> Void) throws {
      _ = try work.take { life in
        let number = life.number("f")
        for binding in try life.overlay.bindings(of: [number], over: life.recorded) {
          life.apply(binding)
        }
        let node = try #require(life.overlay.nodes[number])
        var attributes = node.attributes
        edit(&attributes)
        life.apply(.attributes(number, attributes, lacksExtended: node.lacksExtended))
      }
    }
    try change { $0.extended = [long] }
    #expect(try work.entry("f")?.attributes.extended == [long])
    try change { $0.mode = 0o600 }
    #expect(try work.entry("f")?.attributes.extended == [long])
    #expect(try work.entry("f")?.attributes.mode == 0o600)
    // An access control list is there where long attributes are not.
    let list = Attributes.Extended(
      name: Array("system.posix_acl_access".utf8), value: [2, 0, 0, 0, 1, 0, 7, 0])
    try change { $0.setExtended(list.value, list.name) }
    #expect(try work.entry("f")?.attributes.extended == [list, long])
    try change { $0.setExtended(nil, list.name) }
    #expect(try work.entry("f")?.attributes.extended == [long])
  }

  @Test("A change made on a version that the head did not come of stays beside the head")
  func elsewhere() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["f": 1])
    let (seen, head) = (VersionNumber(2), VersionNumber(3))
    try work.store(["f": 2, "other": 2], on: VersionNumber(1))
    try work.store(["f": 3], on: VersionNumber(1))
    let (_, made) = try work.take(seeing: seen) { life in
      try life.write(life.number("f"), replacing: true, seen: .first)
      try life.perform(.save(life.number("f")), on: [])
    }
    #expect(made.head == head)
    #expect(made.own == nil)
    let number = try #require(made.groups.values.first)
    #expect(try work.predecessor(of: number) == seen)
    #expect(Set(try work.headMap().keys) == ["f", "other"])
  }
}
