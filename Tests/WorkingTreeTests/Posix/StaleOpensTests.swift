import Inodes
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Opens of files whose name a head gave to something else.
@Suite(.timeLimit(.minutes(1)))
struct StaleOpensTests {
  @Test(
    "The first open of a thread fails, its second gets the file, and others have their own first")
  func onceEach() {
    var opens = StaleOpens()
    let answers = [(7, 20), (8, 20), (7, 20), (7, 20), (7, 21), (8, 20)].map {
      opens.isFirst($0.0, of: InodeNumber($0.1))
    }
    #expect(answers == [true, true, false, true, true, false])
  }

  @Test("A file that a head took from its name is looked up again, one that a program took is not")
  func kinds() throws {
    let behind = try BehindWork()
    let tree = behind.work.tree
    let (f, g) = (try behind.lookedUp("f"), try behind.lookedUp("g"))
    try behind.work.unlink("g")
    #expect(!tree.mustLookUpAgain(f, thread: 7))
    try behind.transition(["f": BehindWork.text([4: "four F"])])
    #expect(!tree.mustLookUpAgain(g, thread: 7))
    #expect(tree.mustLookUpAgain(f, thread: 7))
    #expect(!tree.mustLookUpAgain(f, thread: 7))
    #expect(!tree.mustLookUpAgain(try behind.lookedUp("f"), thread: 7))
  }

  @Test(
    "A link to a file that a head took from its name fails with ESTALE, to a removed one with ENOENT"
  )
  func links() throws {
    let behind = try BehindWork()
    let tree = behind.work.tree
    let (f, g) = (try behind.lookedUp("f"), try behind.lookedUp("g"))
    try behind.work.unlink("g")
    try behind.transition(["f": BehindWork.text([4: "four F"])])
    let place = try behind.work.place("new")
    expect(.stale) { try tree.link(f, place.directory, place.name) }
    expect(.noEntry) { try tree.link(g, place.directory, place.name) }
  }

  @Test("Who opens a file that a head took from its name, and reads it, is behind at the name")
  func reads() throws {
    let behind = try BehindWork()
    let start = try behind.head
    let f = try behind.lookedUp("f")
    try behind.transition(["f": BehindWork.text([4: "four F"])])
    let opened = try behind.work.tree.open(f, mode: .read, process: BehindWork.p)
    try behind.work.tree.release(opened.handle)
    try behind.save("f", BehindWork.text([1: "one P"]), .renaming)
    #expect(try behind.settled()["f"] == BehindWork.text([1: "one P", 4: "four F"]))
    #expect(
      try behind.predecessor(of: BehindWork.text([1: "one P"]), since: start) == start)
    try behind.expectNoConflict()
  }
}

extension BehindWork {
  /// Looks a file up, as the kernel does that keeps it.
  fileprivate func lookedUp(_ path: String) throws -> InodeNumber {
    let place = try work.place(path)
    return try work.tree.lookup(place.directory, place.name).number
  }
}
