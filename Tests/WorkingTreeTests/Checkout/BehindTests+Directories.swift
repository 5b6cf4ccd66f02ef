import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Directories that heads and programs take away, and files next to them.
extension BehindTests {
  @Test("A process is behind in a directory that other machines removed and made again")
  func directoryMadeAgain() throws {
    try behind.transition(["e/a": text([:])])
    try behind.read("e/a")
    try behind.transition(["e/a": nil])
    try behind.transition(["e/a": text([3: "three F"])])
    try behind.save("e/a", text([1: "one P"]), .renaming)
    #expect(try behind.settled()["e/a"] == text([1: "one P", 3: "three F"]))
    try behind.expectNoConflict()
  }

  @Test("Bytes that no save covers make no version, though a head has a directory at their name")
  func unsavedAtDirectory() throws {
    var last: [UInt32] = []
    for isLate in [false, true] {
      let behind = try BehindWork()
      let work = behind.work
      var open: (number: InodeNumber, handle: HandleNumber)?
      try behind.create("e", "one\n")
      try behind.transition(late: { if isLate { open = try work.open("e") } })
      let (_, handle) = try open ?? work.open("e")
      try work.write("two\n", through: handle, at: 4)
      try behind.transition(["e/a": "theirs"])
      try behind.transition()
      #expect(try behind.store.lastNumber == behind.head.rawValue)
      try work.close(handle)
      try behind.settled()
      last.append(behind.store.lastNumber)
    }
    #expect(last[0] == last[1])
  }

  @Test("A file of two names is merged at the one that a head changed, though its directory moved")
  func linkInMovedDirectory() throws {
    try work.makeDirectory("d")
    try work.save("c", "one\n")
    try behind.transition()
    let start = try behind.head
    try work.link("c", "d/b")
    try behind.create("e", "e")
    try behind.transition()
    let (_, handle) = try work.open("d/b")
    try work.write("two\n", through: handle, at: 4)
    try work.rename("e", "c", .exchange)
    try behind.transition(["d/b": "theirs\n"], since: start)
    try work.rename("d", "moved")
    try behind.transition()
    try work.close(handle)
    let texts = try behind.settled()
    #expect(texts["e"] == "one\ntwo\n")
    #expect(texts["moved/b"] == "one\ntwo\n")
    let key = KeyCoding.key(ofPath: Array("moved/b".utf8))
    #expect(try behind.store.openConflicts(at: behind.head).map(\.key) == [key])
  }
}
