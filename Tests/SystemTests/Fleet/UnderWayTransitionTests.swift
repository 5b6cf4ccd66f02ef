import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport
@testable import WorkingTree

/// What random lives under way have found, one by one.
@Suite(.timeLimit(.minutes(2)))
struct UnderWayTransitionTests {
  private let directory: TemporaryDirectory
  private let member: FleetMember

  init() throws {
    directory = try TemporaryDirectory()
    member = try FleetMember(directory.path, number: 0)
    try member.run("set settle=1h")
  }

  private func save(_ path: String, _ text: String) throws {
    try member.kernel.save(path, Array(text.utf8))
  }

  private func texts(_ member: FleetMember) throws -> [String: String] {
    try member.tree().filter { $0.value.kind == .regular }
      .mapValues { String(decoding: $0.bytes, as: UTF8.self) }
  }

  @Test("a name that is moved before the kernel was told of it shows at its new place what it is")
  func moved() throws {
    try save("f", "one")
    try member.run("commit")
    try save("f", "two")
    try member.run("commit")
    var isMoved = false
    member.whileTelling { [member] in
      guard !isMoved else { return }
      isMoved = true
      #expect(throws: Never.self) { try member.kernel.rename("f", "g") }
    }
    try member.run("undo")
    member.whileTelling(nil)
    #expect(isMoved)
    let shown = try member.live().mapValues { String(decoding: $0.bytes, as: UTF8.self) }
    #expect(try shown == texts(member))
    try member.run("commit")
    try member.check()
  }

  @Test("what another version took the place of is not pending again after a kill")
  func killed() throws {
    try save("f", "one")
    try member.run("commit")
    let first = try #require(try member.head())
    try save("f", "two")
    let (path, copy) = (member.path, directory.file("copy"))
    let (store, before) = (member.store, try member.versionCount())
    nonisolated(unsafe) var isCopied = false
    // Between the store's commit and the journal's next generation.
    let watch = Faults.watch(below: path + "/journal") { _, phase in
      guard phase == .before, !isCopied, (try? store.state().lastNumber) != before else { return }
      isCopied = true
      #expect(throws: Never.self) {
        try FileSystem.makeDirectory(copy)
        try copyTree(path, to: copy + "/s0")
      }
    }
    _ = try member.service.tree.transition(.command, headReason: .other("test")) { _, _ in
      first
    }
    Faults.unwatch(watch)
    #expect(isCopied)
    #expect(try texts(member) == ["f": "one"])
    let other = try FleetMember(copy, number: 0)
    #expect(try texts(other) == ["f": "one"])
    let pending = other.service.tree.pending()
    #expect(pending.changed == 0 && pending.new == 0)
    try other.run("commit")
    #expect(try texts(other) == ["f": "one"])
  }

  @Test("a directory that is taken away while something is made in it is one, with what was made")
  func directoryStays() throws {
    try save("f", "one")
    try member.run("commit")
    let first = try #require(try member.head())
    try member.kernel.makeDirectory("d")
    try save("d/x", "x")
    try member.run("commit")
    let member = member
    var failure: (any Error)?
    _ = try member.service.tree.transition(.command, headReason: .other("test")) { _, _ in
      do { try save("d/new", "new") } catch { failure = error }
      return first
    }
    #expect(failure == nil)
    #expect(try texts(member) == ["f": "one", "d/new": "new"])
    try member.run("commit")
    let shown = try member.check()
    #expect(shown["d/new"] != nil)
  }

  @Test("a directory that was removed meanwhile and comes back with an edit is seen again")
  func removedMeanwhile() throws {
    try member.kernel.makeDirectory("d")
    try save("d/x", "one")
    try save("d/y", "y")
    try member.run("commit")
    let first = try #require(try member.head())
    try save("d/x", "two")
    try member.run("commit")
    // As undo does: a version on the head with what was before.
    try restore(first) { try member.kernel.removeAll("d") }
    try member.run("commit")
    let shown = try member.check()
    #expect(shown["d/x"].map { String(decoding: $0.bytes, as: UTF8.self) } == "one")
  }

  @Test("a file that lost another name meanwhile is what another version has at the one it keeps")
  func lostName() throws {
    // Several, since the names of a file are met in any order.
    let names = (0..<12).map { ("a/f\($0)", "e/h\($0)") }
    for name in ["a", "e"] { try member.kernel.makeDirectory(name) }
    for (name, other) in names {
      try save(name, "one")
      try member.kernel.link(name, other)
    }
    try member.run("commit")
    let first = try #require(try member.head())
    for (_, other) in names { try save(other, "two") }
    try restore(first) {
      for (name, _) in names {
        try member.kernel.remove(name)
        try member.kernel.makeLink(name, to: "link")
      }
    }
    let shown = try texts(member)
    for (_, other) in names { #expect(shown[other] == "one", "\(other)") }
    let other = try FleetMember(copied(), number: 0)
    #expect(try texts(other) == shown)
    try member.run("commit")
    let later = try texts(member)
    #expect(later == shown, "\(later), not \(shown)")
    _ = try member.check()
  }

  @Test("a file of several names has one more when one of them comes to be shown elsewhere")
  func shownElsewhere() throws {
    try save("in", "text")
    // It is looked at before the other.
    try member.kernel.link("in", "!n")
    try member.run("commit")
    let first = try #require(try member.head())
    try member.kernel.remove("in")
    try member.run("commit")
    _ = try member.live()
    // A directory is made at the name while the tree is put under it that has the file there.
    try restore(first) {
      try member.kernel.makeDirectory("in")
      try save("in/x", "x")
    }
    _ = try member.live()
    try member.run("commit")
    let shown = try member.check()
    #expect(shown["in/x"] != nil && shown["!n"]?.names.count == 2)
  }

  @Test("a file that went from a displaced name and what comes there have numbers of their own")
  func displacedAndMoved() throws {
    try save("f", "one")
    try member.run("commit")
    let first = try #require(try member.head())
    try save("f", "two")
    try member.run("commit")
    let second = try #require(try member.head())
    try member.kernel.remove("f")
    try member.kernel.makeDirectory("f")
    try save("f/x", "x")
    try member.run("commit")
    let member = member
    try restore(first) { try save("f/new", "new") }
    try member.run("commit")
    #expect(try texts(member) == ["%llvs%f": "one", "f/new": "new"])
    try restore(second) {
      try member.kernel.rename("%llvs%f", "g")
      try save("f/more", "more")
    }
    try member.run("commit")
    let shown = try member.check()
    #expect(shown["f/more"] != nil && shown["g"] != nil)
  }

  @Test(
    "a directory that only names below said was there goes with them, whatever it was given meanwhile",
    arguments: [["d/x"], ["d", "d/x"], ["d/new"], ["d", "d/new"]])
  func impliedGoes(changed: [String]) throws {
    try save("f", "one")
    try member.run("commit")
    let first = try #require(try member.head())
    try member.kernel.makeDirectory("d")
    try member.kernel.makeDirectory("d/x")
    try member.run("commit")
    try commit(without: ["d"], directories: true)
    try restore(first) {
      for path in changed {
        if path == "d/new" {
          try member.kernel.makeDirectory(path)
          try member.kernel.remove(path)
        } else {
          try member.kernel.change(path) { $0.mode = 0o700 }
        }
      }
    }
    #expect(try member.live().keys.sorted() == ["f"])
    try member.check()
    try member.run("commit")
    try member.check()
    #expect(try member.live().keys.sorted() == ["f"])
  }

  @Test(
    "the kernel is told of a directory that goes, once empty, where the one above it stays",
    arguments: [false, true])
  func nestedGoes(isKilled: Bool) throws {
    let first = try makeNested()
    try restore(first) { try save("a/e/new", "new") }
    try member.kernel.remove("a/e/new")
    try save("a/kept", "kept")
    if isKilled {
      member.kill()
      try member.mount()
    }
    #expect(try member.live().keys.sorted() == ["a", "a/e", "a/kept", "f"])
    try member.run("commit")
    try member.check()
    #expect(try member.live().keys.sorted() == ["a", "a/kept", "f"])
  }

  @Test("a file that took the place of an open one has the names that a later version gives it")
  func shownBesideOpen() throws {
    try save("f", "one")
    try member.run("commit")
    try member.kernel.link("f", "g")
    try member.run("commit")
    let linked = try #require(try member.head())
    try member.kernel.remove("g")
    try save("f", "two")
    try member.run("commit")
    let file = try member.kernel.open("f", .write)
    try restore(linked) {}
    try member.kernel.close(file)
    #expect(try member.live()["f"]?.names == ["f", "g"])
    // The base learns the number that the file was given beside the open one.
    try save("other", "x")
    try member.run("commit")
    try commit(without: ["g"], directories: false)
    #expect(try member.live()["f"]?.names == ["f"])
    try member.run("undo")
    let shown = try member.check()
    #expect(shown["f"]?.names == ["f", "g"])
  }

  @Test(
    "nothing is made in a directory that went with the one above it",
    arguments: [["a", "a/e"], ["a/e"], ["a"]])
  func chainGoes(withoutEntries: [String]) throws {
    let first = try makeNested()
    try commit(without: withoutEntries, directories: true)
    _ = try member.live()
    var made = false
    try restore(first) {
      try member.kernel.change("a") { $0.mode = 0o700 }
    } telling: {
      guard !made, let file = try? member.kernel.create("a/e/late") else { return }
      made = true
      #expect(throws: Never.self) { try member.kernel.close(file) }
    }
    let shown = try member.live()
    #expect((shown["a/e/late"] != nil) == made)
    try member.run("commit")
    #expect(try member.check().keys.sorted() == shown.keys.sorted())
  }

  @Test("a file displaced by a directory of names that are not plain keys moves with what it is in")
  func displacedByEscaped() throws {
    let combining = "e/n/e\u{301}"
    try member.kernel.makeDirectory("e")
    // Only what is in it says that the directory is there.
    try displace("e/n", by: combining)
    #expect(try texts(member) == ["e/%llvs%e%2Fn": "one", combining: "new"])
    _ = try member.live()
    try member.kernel.rename("e", "g")
    try member.run("commit")
    let shown = try member.check()
    #expect(shown["g/%llvs%g%2Fn"] != nil)
  }

  @Test("a displaced file that keeps its place beside the file it was has a number of its own")
  func displacedBesideItself() throws {
    let displaced = "%llvs%f"
    let member = member
    // As a program may name a file itself.
    try save(displaced, "own")
    try displace("f", by: "f/new")
    #expect(try texts(member) == [displaced: "own", displaced + "%~1": "one", "f/new": "new"])
    let second = try #require(try member.head())
    try member.kernel.remove(displaced)
    try member.run("commit")
    #expect(try texts(member) == [displaced: "one", "f/new": "new"])
    _ = try member.live()
    try restore(second) { try member.kernel.change(displaced) { $0.mode = 0o600 } }
    _ = try member.tree()
    try member.kernel.removeAll("f")
    try save("f", "three")
    try member.run("commit")
    try member.check()
    #expect(try texts(member) == [displaced: "own", displaced + "%~1": "one", "f": "three"])
  }

  @Test("a displaced file stays beside one that took its own name, and moves with what both are in")
  func displacedMovesBeside() throws {
    try member.kernel.makeDirectory("c")
    try displace("c/f", by: "c/f/new")
    try member.kernel.removeAll("c/f")
    try save("c/f", "two")
    try member.kernel.rename("c", "g")
    let shown = try texts(member)
    #expect(shown == ["g/%llvs%c%2Ff": "one", "g/f": "two"])
    try member.run("commit")
    #expect(try texts(member) == shown)
    try member.check()
  }

  @Test(
    "a directory that only names below say is there stays when a program takes them away",
    arguments: [false, true])
  func emptied(isKilled: Bool) throws {
    try save("f", "one")
    for path in ["a", "b", "b/c", "d"] { try member.kernel.makeDirectory(path) }
    for path in ["a/x", "b/c/x", "d/x", "d/y"] { try save(path, "x") }
    try member.run("commit")
    try commit(without: ["a", "b", "b/c", "d"], directories: true)
    let number = try member.kernel.status(member.kernel.walk("a")).inode
    try member.kernel.remove("a/x")
    try member.kernel.rename("b/c/x", "y")
    try member.kernel.remove("d/x")
    if isKilled {
      member.kill()
      try member.mount()
    }
    try member.run("commit")
    let shown = ["a", "b", "b/c", "d", "d/y", "f", "y"]
    #expect(try member.check().keys.sorted() == shown)
    // Nothing but names below says of the others that they are there.
    let head = try #require(try member.store.state().headMap)
    let entries = try shown.filter {
      try member.store.map(head).entry(at: Key(bytes: Array($0.utf8)), directory: true) != nil
    }
    #expect(entries == ["a", "b/c"])
    if isKilled {
      member.kill()
      try member.mount()
    }
    #expect(try member.kernel.status(member.kernel.walk("a")).inode == number)
    try save("a/new", "new")
    try member.kernel.remove("b/c")
    try member.run("commit")
    #expect(try member.check().keys.sorted() == ["a", "a/new", "b", "d", "d/y", "f", "y"])
  }

  /// Makes a version with a file, and one with a directory in a directory too; returns the first.
  private func makeNested() throws -> VersionNumber {
    try save("f", "one")
    try member.run("commit")
    let first = try #require(try member.head())
    try member.kernel.makeDirectory("a")
    try member.kernel.makeDirectory("a/e")
    try save("a/e/x", "x")
    try member.run("commit")
    return first
  }

  /// Makes a file, "one", that comes back while a file, "new", is made in the directory which took its place.
  private func displace(_ path: String, by below: String) throws {
    try save(path, "one")
    try member.run("commit")
    let first = try #require(try member.head())
    try member.kernel.remove(path)
    try member.kernel.makeDirectory(path)
    try save(path + "/x", "x")
    try member.run("commit")
    try restore(first) { try save(below, "new") }
    try member.run("commit")
  }

  /// Makes a version as a program of the library does: keys alone.
  private func commit(without names: [String], directories: Bool) throws {
    let number = try #require(try member.head())
    let base = try #require(try member.store.version(number))
    _ = try member.service.tree.transition(.command, headReason: .other("test")) {
      (transaction, head) throws(StoreError) in
      guard let head else { return head }
      let base = member.store.map(base.map)
      let map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
        .applying(
          edits: names.map { .remove(Key(bytes: Array($0.utf8)), directory: directories) })
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: head, base: base, map: map)
      ).number
    }
  }

  /// What a killed daemon would leave now.
  private func copied() throws -> String {
    let copy = directory.file("copy")
    try FileSystem.makeDirectory(copy)
    try copyTree(member.path, to: copy + "/s0")
    return copy
  }

  /// Makes a version on the head with what another has, while programs go on.
  private func restore(
    _ version: VersionNumber, while meanwhile: () throws -> Void,
    telling: (() -> Void)? = nil
  ) throws {
    member.whileTelling(telling)
    defer { member.whileTelling(nil) }
    let record = try #require(try member.store.version(version))
    var failure: (any Error)?
    _ = try member.service.tree.transition(.command, headReason: .other("test")) {
      (transaction, head) throws(StoreError) in
      do { try meanwhile() } catch { failure = error }
      guard let head, let now = try transaction.version(head) else { return head }
      let (base, map) = (member.store.map(now.map), member.store.map(record.map))
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: head, base: base, map: map)
      ).number
    }
    if let failure { throw failure }
  }
}
