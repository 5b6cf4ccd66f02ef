import LLVSCore
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import Control
@testable import TreeSupport

/// What random fleets have found, one by one.
@Suite(.timeLimit(.minutes(2)))
struct DisplacedFileTests {
  private let directory: TemporaryDirectory
  private let a: FleetMember
  private let b: FleetMember

  init() throws {
    directory = try TemporaryDirectory()
    try FileSystem.makeDirectory(directory.file("folder"))
    a = try FleetMember(directory.path, number: 0)
    b = try FleetMember(directory.path, number: 1)
    for member in [a, b] {
      try member.run("set settle=1h")
      try member.service.setPeer("folder", address: Array(directory.file("folder").utf8))
    }
  }

  private func sync(_ members: [FleetMember]) throws {
    for member in members {
      try member.run("sync")
      try member.check()
    }
  }

  private func commit(_ member: FleetMember) throws {
    try member.run("commit")
    try member.check()
  }

  private func save(_ member: FleetMember, _ path: String, _ text: String) throws {
    try member.kernel.save(path, Array(text.utf8))
  }

  /// The regular files that a member shows.
  private func files(_ member: FleetMember) throws -> [String: String] {
    try member.live().filter { $0.value.kind == .regular }
      .mapValues { String(decoding: $0.bytes, as: UTF8.self) }
  }

  /// Both have the file f edited in b, and the directory of that name with x in it, from a.
  private func displaced(in above: String = "") throws {
    if !above.isEmpty { try a.kernel.makeDirectory(String(above.dropLast())) }
    try save(a, above + "f", "one")
    try sync([a, b])
    try a.kernel.remove(above + "f")
    try a.kernel.makeDirectory(above + "f")
    try save(a, above + "f/x", "x")
    try save(b, above + "f", "two")
    try sync([b, a, b])
  }

  @Test("a file that is only named like a displaced one keeps its name when its directory moves")
  func plainName() throws {
    try a.kernel.makeDirectory("d")
    try save(a, "d/%llvs%q", "q")
    try a.kernel.link("d/%llvs%q", "other")
    try commit(a)
    try a.kernel.rename("d", "e")
    try commit(a)
    #expect(try files(a) == ["e/%llvs%q": "q", "other": "q"])
  }

  @Test("a directory in the place of a displaced file does not take the one that displaced it")
  func directoryInPlace() throws {
    try displaced()
    try b.kernel.remove("%llvs%f")
    try b.kernel.makeDirectory("%llvs%f")
    try save(b, "%llvs%f/in", "in")
    try commit(b)
    try b.kernel.change("%llvs%f") { $0.mode = 0o700 }
    try sync([b, a])
    #expect(try files(a) == ["f/x": "x", "%llvs%f/in": "in"])
    #expect(try files(b) == files(a))
  }

  @Test(
    "a directory moves with the files that are displaced in it, looked at before or only listed")
  func moved() throws {
    try displaced(in: "d/")
    #expect(try files(b).count == 2)
    b.kill()
    try b.mount()
    _ = try b.kernel.list(b.kernel.walk("d"))
    for member in [a, b] {
      try member.kernel.rename("d", "e")
      try commit(member)
      #expect(try files(member) == ["e/f/x": "x", "e/%llvs%e%2Ff": "two"])
    }
    try sync([a, b, a])
  }

  @Test("what a moved directory displaced is there when what was in its way moves elsewhere")
  func movedApart() throws {
    try displaced(in: "d/")
    try b.kernel.rename("d/f", "g")
    try b.kernel.rename("d", "e")
    try commit(b)
    #expect(try files(b) == ["g/x": "x", "e/f": "two"])
  }

  @Test("a displaced file that is edited before its directory moves is there once")
  func movedEdited() throws {
    try displaced(in: "d/")
    try save(b, "d/%llvs%d%2Ff", "three")
    try b.kernel.rename("d", "e")
    try commit(b)
    #expect(try files(b).filter { $0.key != "e/f/x" }.map(\.value) == ["three"])
  }

  @Test("a file that is pending when a directory takes its name is moved aside by its cut")
  func pendingDisplaced() throws {
    try save(a, "f", "one")
    try a.kernel.link("f", "other")
    try sync([a, b])
    let file = try b.kernel.open("f", [.read, .write])
    try b.kernel.write(file, Array("two".utf8), at: 0)
    try a.kernel.remove("f")
    try a.kernel.makeDirectory("f")
    try save(a, "f/x", "x")
    try a.run("sync")
    try b.run("sync")
    #expect(try b.kernel.bytes(b.kernel.walk("f")) == Array("two".utf8))
    try b.kernel.close(file)
    try commit(b)
    #expect(try files(b)["f/x"] == "x")
    #expect(try files(b).values.contains("two"))
    try sync([b, a, b])
    #expect(try files(a) == files(b))
  }

  @Test("what is written through a handle follows a file that a directory displaced")
  func handleDisplaced() throws {
    try save(a, "f", "one")
    try sync([a, b])
    let file = try b.kernel.open("f", [.read, .write, .append])
    try a.kernel.remove("f")
    try a.kernel.makeDirectory("f")
    try save(a, "f/x", "x")
    try b.kernel.write(file, Array("\ntwo".utf8), at: 3)
    try b.kernel.flush(file)
    try a.run("sync")
    try sync([b])
    #expect(try files(b) == ["f/x": "x", "%llvs%f": "one\ntwo"])
    // Another version of it comes, so that the open one is detached, and is written on.
    try sync([a])
    try save(a, "%llvs%f", "zero\none\ntwo")
    try a.run("sync")
    try sync([b])
    try b.kernel.write(file, Array("\nthree".utf8), at: 7)
    try b.kernel.close(file)
    try sync([b, a])
    #expect(try files(b) == files(a))
    #expect(try Set(files(b).keys) == ["f/x", "%llvs%f"])
    #expect(try files(b)["%llvs%f"]?.contains("three") == true)
  }

  @Test("a directory that was removed here and added to there is seen again, and lasts over a kill")
  func implied() throws {
    try a.kernel.makeDirectory("d")
    try save(a, "d/x", "x")
    try sync([a, b])
    try save(b, "d/y", "y")
    try a.kernel.removeAll("d")
    try commit(a)
    #expect(try a.kernel.node(Array("d".utf8), in: TreeSession.rootInode) == nil)
    try sync([b, a, b])
    for member in [a, b] {
      #expect(try files(member) == ["d/y": "y"])
      try member.kernel.makePipe("d/pipe")
      try member.kernel.remove("d/y")
      try save(member, "d/z", "z")
      let before = try member.live()
      member.kill()
      try member.mount()
      #expect(try member.live() == before)
    }
    // It has an entry again, and its number still.
    try a.kernel.change("d") { $0.mode = 0o700 }
    try sync([a, b, a])
  }

  @Test("a name that gets older bytes back shows them, whatever files held open have written")
  func heldOverRestores() throws {
    func head() throws -> String {
      let head = try #require(try a.head())
      return try a.store.id(of: head).rawValue
    }
    func write(_ open: KernelModel.Open, _ text: String) throws {
      try a.kernel.write(open, Array(text.utf8), at: 0)
      try a.kernel.sync(open)
    }
    try save(a, "seed", "x")
    try commit(a)
    let first = try head()
    try save(a, "b", "349")
    let six = try a.kernel.open("b", [.read, .write])
    try a.run("restore \(first)")
    let without = try head()
    try write(six, "133")
    try commit(a)
    let second = try head()
    try write(six, "999")
    try commit(a)
    let seven = try a.kernel.open("b", [.read, .write])
    try a.run("switch \(without) as br1")
    try write(seven, "889")
    try commit(a)
    try write(seven, "931")
    try a.run("restore \(second)")
    #expect(try files(a)["b"] == "133")
    try a.check()
    try a.kernel.close(six)
    try a.kernel.close(seven)
    try commit(a)
  }
}
