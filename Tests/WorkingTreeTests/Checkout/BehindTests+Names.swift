import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Names, directories, attributes and links that heads change while programs change them.
extension BehindTests {
  @Test("A save by rename keeps attributes that a head under way changes")
  func attributes() throws {
    let (name, long) = (Array("user.long".utf8), [UInt8](repeating: 2, count: 5000))
    let start = try behind.head
    var change = StatusChange()
    change.mode = 0o600
    _ = try work.tree.setattr(work.number("f"), change)
    try work.tree.setxattr(work.number("f"), name, long)
    try behind.transition()
    let other = try behind.head
    for isUnderWay in [true, false] {
      try work.go(to: start)
      try behind.read("f")
      let mine = text([1: "one P"])
      func save() throws { try behind.save("f", mine, isUnderWay ? .renaming : .emptying) }
      try behind.transition(
        to: other,
        window: { if isUnderWay { try save() } })
      if !isUnderWay {
        try save()
        #expect(try work.tree.getxattr(work.number("f"), name) == long)
      }
      #expect(try behind.settled()["f"] == mine)
      #expect(try work.tree.status(of: work.number("f")).mode & 0o777 == 0o600)
      #expect(try work.tree.getxattr(work.number("f"), name) == long)
      try behind.expectNoConflict()
    }
  }

  @Test("A directory that is emptied and removed while a merge adds a file to it is there")
  func removedDirectory() throws {
    for isReplaced in [false, true] {
      let behind = try BehindWork()
      let work = behind.work
      for name in ["d", "e"] { try work.makeDirectory(name) }
      for name in ["d/x", "e/z"] { try work.save(name, name) }
      try behind.transition()
      try behind.transition(
        ["d/y": "theirs"],
        window: {
          try work.unlink("d/x")
          if isReplaced { try work.rename("e", "d") } else { try work.removeDirectory("d") }
        })
      let texts = try behind.settled()
      #expect(texts["d/y"] == "theirs")
      #expect(texts["d/x"] == nil)
      #expect(texts["d/z"] == (isReplaced ? "e/z" : nil))
      #expect(texts["e/z"] == (isReplaced ? nil : "e/z"))
      try behind.expectNoConflict()
    }
  }

  @Test(
    "A file that is not saved goes with its directory, which is renamed after a merge of others")
  func unsavedInMoved() throws {
    try work.makeDirectory("d")
    try work.save("d/x", "x")
    try behind.transition()
    let (_, handle) = try work.open("d/n")
    try work.write("new", through: handle)
    try behind.mergeOther()
    let start = try behind.head
    try work.rename("d", "e")
    try behind.transition()
    try work.close(handle)
    let texts = try behind.settled()
    #expect(texts["e/n"] == "new")
    #expect(texts["e/x"] == "x")
    try behind.expectOneLine(since: start)
  }

  @Test("A file that is not saved stays where another machine renamed its directory")
  func unsavedInMovedByOthers() throws {
    try work.makeDirectory("d")
    try work.save("d/x", "x")
    try behind.transition()
    let (_, handle) = try work.open("d/n")
    try work.write("new", through: handle)
    try behind.transition(["d/x": nil, "e/x": "x"])
    try work.close(handle)
    let texts = try behind.settled()
    #expect(texts["d/n"] == "new")
    #expect(texts["e/x"] == "x")
    try behind.expectNoConflict()
  }

  @Test(
    "What another machine put at the name of an unsaved file is kept, though its directory moves")
  func unsavedInMovedUnderMerge() throws {
    try work.makeDirectory("d")
    try work.save("d/x", "x")
    try behind.transition()
    let (_, handle) = try work.open("d/n")
    try work.write("new", through: handle)
    try behind.transition(["d/n": "theirs"])
    try behind.transition(["d/x": "theirs too"], window: { try work.rename("d", "e") })
    try work.close(handle)
    let texts = try behind.settled().values
    #expect(texts.contains("theirs"))
    #expect(texts.contains("theirs too"))
    #expect(texts.contains("new"))
  }

  @Test("A name that a merge removed is made on the head")
  func madeAfterRemoval() throws {
    try behind.read("f")
    try behind.transition(["f": nil])
    let start = try behind.head
    try behind.create("f", "new")
    #expect(try behind.settled()["f"] == "new")
    try behind.expectOneLine(since: start)
  }

  @Test("A file made where a program here removed one that a merge removes is made on the head")
  func madeAfterBothRemoved() throws {
    try behind.read("f")
    try behind.transition(["f": nil], window: { try work.unlink("f") })
    try behind.create("f", "new")
    #expect(try behind.settled()["f"] == "new")
    try behind.expectNoConflict()
  }

  @Test("A file made where a program here removed one that a merge edits is beside the edit")
  func madeAfterRemovalUnderEdit() throws {
    let start = try behind.head
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])], window: { try work.unlink("f") })
    let mine = text([1: "one P"])
    try behind.create("f", mine)
    #expect(try behind.settled()["f"] == text([1: "one P", 4: "four F"]))
    #expect(try behind.predecessor(of: mine, since: start) == start)
    try behind.expectNoConflict()
  }

  @Test("What is written through one of two names is no conflict where a head changed the other")
  func links() throws {
    for isUnderWay in [false, true] {
      let behind = try BehindWork()
      let work = behind.work
      try work.link("f", "l")
      try behind.transition()
      try behind.read("f")
      let mine = text([1: "one P"])
      func save() throws { try behind.save("l", mine) }
      try behind.transition(
        ["f": text([4: "four F"])], window: { if isUnderWay { try save() } })
      if !isUnderWay { try save() }
      let texts = try behind.settled()
      #expect(texts["l"] == mine)
      #expect(texts["f"] == text(isUnderWay ? [1: "one P", 4: "four F"] : [4: "four F"]))
      #expect(Set(texts.keys) == ["f", "g", "h", "l", "other"])
      try behind.expectNoConflict()
    }
  }

  @Test("What two handles of a detached file save is one line, and the head is merged once")
  func handles() throws {
    let start = try behind.head
    let (_, one) = try work.open("f")
    let (_, two) = try work.open("f")
    try behind.transition(["f": text([4: "four F"])])
    try work.write("ONE", through: one)
    try work.close(one)
    try behind.transition()
    try work.write("TWO", through: two, at: 4)
    try work.close(two)
    #expect(try behind.settled()["f"] == text([1: "ONE", 2: "TWO", 4: "four F"]))
    let first = try #require(
      try behind.versions(since: start).first { try behind.text("f", in: $0) == text([1: "ONE"]) })
    #expect(first.first == start)
    #expect(try behind.predecessor(of: text([1: "ONE", 2: "TWO"]), since: start) == first.number)
    try behind.expectNoConflict()
  }

  @Test(
    "A database program that removes the journal it opened does not remove what another saves in the old one",
    arguments: [true, false])
  func removedByReader(isSavedBefore: Bool) throws {
    let (_, old) = try work.open("f")
    try behind.transition(["f": text([4: "four F"])])
    if isSavedBefore { try work.write("ONE", through: old) }
    try behind.read("f", by: BehindWork.q)
    let place = try work.place("f")
    try work.tree.unlink(place.directory, place.name, process: BehindWork.q)
    if !isSavedBefore { try work.write("ONE", through: old) }
    try work.close(old)
    #expect(try behind.settled()["f"] == text([1: "ONE"]))
  }

  @Test("A removal by a program that never read the name ends a file without saves to take")
  func removedByStranger() throws {
    for isSavedBefore in [true, false] {
      let behind = try BehindWork()
      let work = behind.work
      let (_, old) = try work.open("f")
      try behind.transition(["f": text([4: "four F"])])
      if isSavedBefore {
        try work.write("ONE", through: old)
        try work.tree.flush(old)
      }
      try work.unlink("f")
      if !isSavedBefore { try work.write("ONE", through: old) }
      try work.close(old)
      #expect(try behind.settled()["f"] == (isSavedBefore ? text([1: "ONE"]) : nil))
    }
  }

  @Test("The shared memory of a replaced database loses its name, and keeps its bytes for programs")
  func sharedMemory() throws {
    let (number, memory) = try work.open("f-shm")
    try work.write("memory", through: memory)
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    #expect((try? work.number("f-shm")) == nil)
    #expect(try work.tree.status(of: number).size == 6)
    try work.close(memory)
    try work.save("f-shm", "new memory")
    try behind.transition(["g": text([4: "four G"])])
    #expect(try work.number("f-shm") != number)
  }

  @Test("Each name is on the version that its program saw, and later saves go on from the first")
  func severalNames() throws {
    let start = try behind.head
    for name in ["f", "g", "h"] { try behind.read(name) }
    try behind.transition(["f": text([4: "four F"])])
    let second = try behind.head
    try behind.transition(["g": text([4: "four G"])])
    let third = try behind.head
    for name in ["f", "g", "h"] { try behind.save(name, text([1: "one P"])) }
    try behind.transition()
    for (name, version) in [("f", start), ("g", second), ("h", third)] {
      #expect(try behind.predecessor(of: text([1: "one P"]), at: name, since: third) == version)
    }
    let saved = try behind.head
    for name in ["f", "g", "h"] { try behind.save(name, text([1: "one P and P"])) }
    let texts = try behind.settled()
    #expect(texts["f"] == text([1: "one P and P", 4: "four F"]))
    #expect(texts["g"] == text([1: "one P and P", 4: "four G"]))
    #expect(texts["h"] == text([1: "one P and P"]))
    for name in ["f", "g", "h"] {
      let number = try #require(
        try behind.predecessor(of: text([1: "one P and P"]), at: name, since: saved))
      let on = try #require(try behind.store.version(number))
      #expect(try behind.text(name, in: on) == text([1: "one P"]))
    }
    try behind.expectNoConflict()
  }

  @Test("Programs that are behind and save again and again do not let the table of epochs grow")
  func manyRounds() throws {
    for name in ["f", "g"] { try behind.read(name) }
    for name in ["f", "g"] { try behind.transition([name: text([4: "four F"])]) }
    for round in 0..<200 {
      for name in ["f", "g"] { try behind.save(name, text([1: "round \(round)"])) }
      try behind.mergeOther("\(round)")
    }
    #expect(work.tree.epochs.count < 100)
    #expect(try work.tree.renewJournal(isForced: true) == [])
    #expect(work.tree.epochs.count <= 3)
    #expect(try behind.settled()["f"] == text([1: "round 199", 4: "four F"]))
    try behind.expectNoConflict()
  }

  @Test(
    "A save that changes nothing of the version that it is on leaves its program there",
    arguments: BehindWork.Way.allCases, [false, true])
  func savesWhatItSaw(way: BehindWork.Way, isMerged: Bool) throws {
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    try behind.save("f", base, way)
    try behind.transition(isMerged ? ["other": "others"] : nil)
    try behind.save("f", text([1: "one P"]), way)
    #expect(try behind.settled()["f"] == text([1: "one P", 4: "four F"]))
    try behind.expectNoConflict()
  }

  @Test("A directory keeps its time when what a program moved there goes onto an older version")
  func timeOfDirectory() throws {
    try work.makeDirectory("d")
    var change = StatusChange()
    change.mtime = Attributes.Time(seconds: 1000, nanoseconds: 1)
    _ = try work.tree.setattr(work.number("d"), change)
    try behind.transition()
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    try behind.save("f", text([1: "one P", 4: "four F"]))
    try work.rename("f", "d/f")
    let shown = try work.tree.status(of: work.number("d"))
    try behind.transition()
    #expect(try work.tree.status(of: work.number("d")).mtime == shown.mtime)
    try behind.settled()
    #expect(try work.tree.status(of: work.number("d")).mtime == shown.mtime)
    #expect(try work.texts()["d/f"] == text([1: "one P", 4: "four F"]))
  }
}
