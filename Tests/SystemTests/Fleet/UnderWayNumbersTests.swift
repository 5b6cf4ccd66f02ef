import LLVSCore
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// What random lives under way have found about the numbers of files, one by one.
@Suite(.timeLimit(.minutes(2)))
struct UnderWayNumbersTests {
  private let directory: TemporaryDirectory
  private let member: FleetMember

  init() throws {
    directory = try TemporaryDirectory()
    member = try FleetMember(directory.path, number: 0)
    try member.run("set settle=1h")
  }

  @Test("the kernel is told of each name of a file to which another version gives other bytes")
  func toldOfEachName() throws {
    try member.save("f", "one")
    for name in ["g", "h"] { try member.kernel.link("f", name) }
    let first = try member.commit()
    try member.save("g", "two")
    try member.commit()
    // What programs change of it keeps it in memory.
    try member.restore(first) { try member.kernel.remove("h") }
    _ = try member.live()
    try member.commit()
    let texts = try member.texts()
    #expect(texts["f"] == "one" && texts["g"] == "one")
  }

  @Test("a name that is moved again before the kernel heard where it went shows what it is")
  func movedAgain() throws {
    try member.save("f0", "one")
    let first = try member.commit()
    try member.save("f0", "two")
    try member.commit()
    var count = 0
    member.whileTelling { [member] in
      // A program that goes on for ever does not keep others waiting for as long.
      guard count < 20 else { return }
      #expect(throws: Never.self) { try member.kernel.rename("f\(count)", "f\(count + 1)") }
      count += 1
    }
    try member.restore(first)
    member.whileTelling(nil)
    _ = try member.live()
    try member.commit()
    #expect(try member.texts() == ["f\(count)": "one"])
  }

  @Test(
    "a file that has a number of its own has it where it is moved to with a directory",
    arguments: ["x", "%llvs%q"])
  func renewedAndMoved(name: String) throws {
    try member.kernel.makeDirectory("d")
    try member.save("a", "one")
    try member.kernel.link("a", "d/" + name)
    let first = try member.commit()
    try member.save("a", "two")
    try member.commit()
    let open = try member.kernel.open("a", .read)
    try member.restore(first) { try member.kernel.rename("d", "g") }
    try member.kernel.close(open)
    try member.kernel.remove("a")
    try member.commit()
    let texts = try member.texts()
    // The move is made on what was shown before. What a restore puts there is older than the moved bytes, so no
    // merge takes it for a change of them, and each is there once.
    #expect(texts == ["d/" + name: "one", "g/" + name: "two"])
  }

  @Test("what a moved directory holds is the same after a kill, whatever numbers its files have")
  func movedOnto() throws {
    for path in ["d", "g"] { try member.kernel.makeDirectory(path) }
    try member.save("a", "one")
    try member.kernel.link("a", "d/x")
    try member.save("g/y", "three")
    let first = try member.commit()
    try member.kernel.remove("d/x")
    try member.kernel.makeLink("d/x", to: "two")
    try member.kernel.removeAll("g")
    try member.save("a", "two")
    try member.commit()
    let open = try member.kernel.open("a", .read)
    let copy = try member.killed(in: directory) {
      try member.restore(first) { try member.kernel.rename("d", "g") }
    }
    _ = try member.live()
    try member.kernel.close(open)
    try member.commit()
    try copy.commit()
    try FleetMember.compare(try member.live(), try copy.live(), "killed")
  }

  @Test(
    "a directory that lost its entry, and was moved meanwhile, is another than what comes to its name",
    arguments: [false, true])
  func movedWithoutEntry(isKilled: Bool) throws {
    try member.save("f", "one")
    try member.kernel.makeDirectory("d")
    try member.save("d/x", "x")
    let first = try member.commit()
    let keys = try member.keysAlone(on: first, without: ["d"], copies: ["d/y": "f"])
    try member.show(keys) { try member.kernel.rename("d", "g") }
    if isKilled {
      member.kill()
      try member.mount()
    }
    try member.commit()
    let shown = try member.texts()
    #expect(shown["d/y"] == "one" && shown["g/x"] == "x")
  }

  @Test(
    "of names of one file those that a merge leaves as they are keep their number",
    arguments: ["a", "c"])
  func partedByMerge(name: String) throws {
    try member.save("b", "one")
    for other in ["a", "c"] { try member.kernel.link("b", other) }
    let first = try member.commit()
    // They come back with the number of what is there then.
    for other in ["a", "b", "c"] { try member.kernel.remove(other) }
    try member.commit()
    try member.save(name, "two")
    try member.commit()
    let open = try member.kernel.open(name, [.read, .write])
    try member.restore(first)
    _ = try member.live()
    let number = try member.kernel.status(member.kernel.walk("b")).inode
    try member.kernel.write(open, Array("six".utf8), at: 0)
    try member.kernel.close(open)
    try member.commit()
    #expect(try member.kernel.status(member.kernel.walk("b")).inode == number)
    #expect(try member.texts()["b"] == "one")
    #expect(try member.live()["b"]?.names == (name == "a" ? ["b", "c"] : ["a", "b"]))
  }

  @Test(
    "a value that goes with a moved directory parts from the file that went from its name",
    arguments: [false, true])
  func displacedAndMoved(isSeen: Bool) throws {
    for path in ["a", "a/e", "b"] { try member.kernel.makeDirectory(path) }
    try member.save("f", "in")
    try member.save("a/x", "one")
    let first = try member.commit()
    let keys = try member.keysAlone(on: first, without: [], copies: ["a/x/y": "f"])
    try member.show(keys) { try member.kernel.rename("a/x", "a/e/x") }
    try member.save("a/e/x", "two")
    try member.kernel.rename("a", "b/n")
    if isSeen { _ = try member.live() }
    try member.commit()
    let texts = try member.texts()
    #expect(texts["b/n/e/x"] == "two" && texts.values.contains("one"), "\(texts)")
  }

  @Test("a file that was moved parts from its bytes, which stay until one is saved where it was")
  func movedBeforeSaved() throws {
    try member.kernel.makeDirectory("d")
    try member.save("d/x", "one")
    try member.commit()
    try member.kernel.rename("d/x", "q")
    let file = try member.kernel.create("d/x")
    try member.kernel.write(file, Array("two".utf8), at: 0)
    try member.kernel.rename("d", "g")
    try member.run("commit")
    let head = try member.headTree()
    #expect(head["g/x"]?.bytes == head["q"]?.bytes && head["g/x"]?.names == ["g/x"])
    try member.kernel.close(file)
    try member.commit()
    #expect(try member.texts() == ["g/x": "two", "q": "one"])
  }
}
