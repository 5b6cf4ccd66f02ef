import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport
@testable import WorkingTree

/// What random lives under way have found about names and numbers, one by one.
@Suite(.timeLimit(.minutes(2)))
struct UnderWayNamesTests {
  private let directory: TemporaryDirectory
  private let member: FleetMember

  init() throws {
    directory = try TemporaryDirectory()
    member = try FleetMember(directory.path, number: 0)
    try member.run("set settle=1h")
  }

  private func save(_ path: String, _ text: String, above: String? = nil) throws {
    if let above { try member.kernel.makeDirectory(above) }
    try member.kernel.save(path, Array(text.utf8))
  }

  private func texts(_ member: FleetMember) throws -> [String: String] {
    try member.tree().filter { $0.value.kind == .regular }
      .mapValues { String(decoding: $0.bytes, as: UTF8.self) }
  }

  /// Commits, and says which version that made.
  @discardableResult
  private func commit() throws -> VersionNumber {
    try member.run("commit")
    try member.check()
    return try #require(try member.head())
  }

  /// Puts another version under the tree while programs go on.
  private func show(_ version: VersionNumber, meanwhile: () throws -> Void) throws {
    var failure: (any Error)?
    _ = try member.service.tree.transition(.command, headReason: .other("test")) { _, _ in
      do { try meanwhile() } catch { failure = error }
      return version
    }
    if let failure { throw failure }
  }

  private func name(of version: VersionNumber) throws -> String {
    try #require(try member.store.version(version)).name
  }

  /// The tree has a directory e with a file that was made while a version came that has a file there.
  private func keepDirectory(whileLinkedTo link: String? = nil) throws {
    try save("e", "one")
    if let link { try member.kernel.link("e", link) }
    let first = try commit()
    try member.kernel.remove("e")
    try member.kernel.makeDirectory("e")
    try save("e/x", "x")
    try commit()
    try show(first) { try save("e/new", "new") }
    #expect(try texts(member)["e/new"] == "new")
    _ = try member.live()
  }

  @Test("a file whose name a directory keeps, for what was made in it, is shown beside that")
  func displacedByKept() throws {
    try keepDirectory()
    try commit()
    #expect(try texts(member) == ["%llvs%e": "one", "e/new": "new"])
  }

  @Test("what was made of a file that a directory displaced goes with it when both are replaced")
  func displacedTwice() throws {
    try keepDirectory()
    try commit()
    try member.kernel.remove("%llvs%e")
    let alone = try commit()
    try member.run("undo")
    try member.check()
    #expect(try texts(member) == ["%llvs%e": "one", "e/new": "new"])
    try save("%llvs%e", "two")
    try member.kernel.rename("e", "g")
    try member.run("restore \(name(of: alone))")
    try member.check()
    #expect(try texts(member) == ["e/new": "new"])
  }

  @Test("a directory whose key is escaped goes before the one it is in")
  func escapedDirectory() throws {
    try save("f", "one")
    let first = try commit()
    try member.kernel.makeDirectory("d")
    try member.kernel.makeDirectory("d/e\u{301}")
    try save("d/x", "x")
    try commit()
    member.whileTelling { [member] in
      try? member.kernel.change("d/e\u{301}") { $0.mode = 0o700 }
    }
    try member.run("restore \(name(of: first))")
    member.whileTelling(nil)
    #expect(try member.service.tree.fault() == nil)
    try commit()
  }

  @Test("names of one file that a merge parts are two, for who has it open too")
  func parted() throws {
    try save("f", "1\n2\n3\n4\n5\n")
    try member.kernel.link("f", "g")
    let first = try commit()
    try member.kernel.remove("g")
    try save("f", "1\n2\n3\n4\nfive\n")
    try commit()
    let open = try member.kernel.open("f", [.read, .write])
    let name = try name(of: first)
    var isWritten = false
    member.whileTelling { [member] in
      guard !isWritten else { return }
      isWritten = true
      #expect(throws: Never.self) {
        try member.kernel.write(open, Array("one\n2\n3\n4\nfive\n".utf8), at: 0)
        try member.kernel.flush(open)
      }
    }
    try member.run("restore \(name)")
    member.whileTelling(nil)
    try commit()
    try member.kernel.close(open)
    try commit()
  }

  @Test("a name that parts from one which a directory hides does not take its number along")
  func partedFromHidden() throws {
    try keepDirectory(whileLinkedTo: "g")
    try member.kernel.rename("g", "h")
    try save("h", "two")
    try commit()
    #expect(try texts(member) == ["%llvs%e": "one", "e/new": "new", "h": "two"])
  }

  @Test("a directory that stays for what was made in it is one that nobody gave a mode")
  func attributesOfKept() throws {
    try save("f", "one")
    let first = try commit()
    try member.kernel.makeDirectory("d")
    try member.kernel.change("d") { $0.mode = 0o700 }
    try save("d/x", "x")
    try commit()
    try show(first) { try save("d/new", "new") }
    _ = try member.live()
    try commit()
  }

  @Test("attributes set while another version came stand on the bytes they had")
  func attributesOverKill() throws {
    try save("f", "one")
    let first = try commit()
    try save("f", "two")
    try commit()
    let (path, copy) = (member.path, directory.file("copy"))
    let (store, before) = (member.store, try member.head())
    nonisolated(unsafe) var isCopied = false
    // Between the store's commit and the journal's next generation.
    let watch = Faults.watch(below: path + "/journal") { _, phase in
      guard phase == .before, !isCopied, (try? store.state().head) != before else { return }
      isCopied = true
      #expect(throws: Never.self) {
        try FileSystem.makeDirectory(copy)
        try copyTree(path, to: copy + "/s0")
      }
    }
    try show(first) { try member.kernel.change("f") { $0.mode = 0o600 } }
    Faults.unwatch(watch)
    #expect(isCopied)
    let other = try FleetMember(copy, number: 0)
    #expect(try texts(other) == texts(member))
    try other.run("commit")
    try member.run("commit")
    #expect(try texts(other) == texts(member))
    try other.check()
    try member.check()
  }

  @Test(
    "attributes given to a directory while a version came that has a file there do not keep it",
    arguments: [false, true])
  func attributesOfGone(isUsed: Bool) throws {
    try save("e", "one")
    let first = try commit()
    try member.kernel.remove("e")
    try member.kernel.makeDirectory("e")
    try save("e/x", "x")
    try commit()
    try show(first) {
      if isUsed { try save("e/new", "new") }
      try member.kernel.change("e") { $0.mode = 0o700 }
    }
    _ = try member.live()
    try commit()
    #expect(try texts(member) == (isUsed ? ["%llvs%e": "one", "e/new": "new"] : ["e": "one"]))
  }

  @Test("what was removed in a directory stays so where others took away only its own entry")
  func removedInImplied() throws {
    try save("d/x", "x", above: "d")
    try save("d/y", "y")
    try commit()
    // As a program of the library makes it: keys alone.
    var failure: (any Error)?
    _ = try member.service.tree.transition(.command, headReason: .other("test")) {
      (transaction, head) throws(StoreError) in
      do { try member.kernel.remove("d/x") } catch { failure = error }
      guard let head, let now = try transaction.version(head) else { return head }
      let base = member.store.map(now.map)
      let map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
        .applying(edits: [.remove(Key(bytes: Array("d".utf8)), directory: true)])
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: head, base: base, map: map)
      ).number
    }
    #expect(failure == nil)
    #expect(try texts(member) == ["d/y": "y"])
    try commit()
    #expect(try texts(member) == ["d/y": "y"])
  }

  @Test("a name that comes to a file which is being edited is one of the file after a kill too")
  func linkedOverKill() throws {
    try save("f", "1\n2\n3\n")
    try member.kernel.link("f", "g")
    try member.kernel.link("f", "h")
    let first = try commit()
    try member.kernel.remove("h")
    try commit()
    let copy = try copied(onto: first) {
      let open = try member.kernel.open("f", [.read, .write])
      try member.kernel.write(open, Array("one".utf8), at: 0)
      try member.kernel.close(open)
    }
    try FleetMember.compare(try member.tree(), try copy.tree(), "killed")
    for one in [member, copy] {
      try one.run("commit")
      try one.check()
    }
    try FleetMember.compare(try member.tree(), try copy.tree(), "killed, later")
  }

  /// Puts a version under the tree while programs go on, and opens what a kill in between leaves.
  private func copied(
    onto version: VersionNumber, meanwhile: () throws -> Void
  ) throws -> FleetMember {
    let (path, copy) = (member.path, directory.file("copy"))
    let (store, before) = (member.store, try member.head())
    nonisolated(unsafe) var isCopied = false
    // Between the store's commit and the journal's next generation.
    let watch = Faults.watch(below: path + "/journal") { _, phase in
      guard phase == .before, !isCopied, (try? store.state().head) != before else { return }
      isCopied = true
      #expect(throws: Never.self) {
        try FileSystem.makeDirectory(copy)
        try copyTree(path, to: copy + "/s0")
      }
    }
    try show(version, meanwhile: meanwhile)
    Faults.unwatch(watch)
    #expect(isCopied)
    return try FleetMember(copy, number: 0)
  }

  @Test("a file that is shown at its name and at that which a merge gave it ends as one")
  func shownTwice() throws {
    try save("e", "one")
    try commit()
    // The other side has a directory of the name.
    try show(with: "e/x", like: "e") { try save("e", "two") }
    #expect(try texts(member) == ["e": "two", "%llvs%e": "one"])
    let open = try member.kernel.open("%llvs%e", [.read, .write])
    try commit()
    #expect(try texts(member) == ["%llvs%e": "two", "e/x": "one"])
    try member.kernel.write(open, Array("mine".utf8), at: 0)
    try member.kernel.flush(open)
    #expect(try member.service.tree.fault() == nil)
    try commit()
    try member.kernel.close(open)
    #expect(try member.history().isSuperset(of: [Array("mine".utf8), Array("two".utf8)]))
    #expect(try !member.service.openConflicts().isEmpty)
  }

  @Test(
    "a directory that is removed while a version came with a file in it is there with that",
    arguments: ["d/y", "d/e\u{301}"])
  func removedMeanwhile(path: String) throws {
    try save("f", "one")
    try save("d/x", "x", above: "d")
    try commit()
    try show(with: path, like: "f") { try member.kernel.removeAll("d") }
    try commit()
    #expect(try texts(member) == ["f": "one", path: "one"])
  }

  /// Puts a version under the tree that has one value more, the same as another, while programs go on.
  private func show(
    with path: String, like other: String, meanwhile: () throws -> Void
  ) throws {
    var failure: (any Error)?
    _ = try member.service.tree.transition(.command, headReason: .other("test")) {
      (transaction, head) throws(StoreError) in
      do { try meanwhile() } catch { failure = error }
      guard let head, let now = try transaction.version(head) else { return head }
      let base = member.store.map(now.map)
      guard var entry = try base.entry(at: Key(bytes: Array(other.utf8))) else { return head }
      entry.key = KeyCoding.key(ofPath: Array(path.utf8))
      let map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
        .applying(edits: [.put(entry)])
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: head, base: base, map: map)
      ).number
    }
    if let failure { throw failure }
  }

  @Test(
    "a directory that stayed for what was made in it goes once that is gone, with no version made",
    arguments: [["d/new"], ["d/c/new"], ["d/c/new", "d/new"]], RemountWhen.allCases)
  func keptAndEmptied(made: [String], remount: RemountWhen) throws {
    try save("f", "one")
    let first = try commit()
    try member.kernel.makeDirectory("d")
    try save("d/c/x", "x", above: "d/c")
    try commit()
    try show(first) { for path in made { try save(path, "new") } }
    if remount == .before { try killAndMount() }
    for path in made { try member.kernel.remove(path) }
    if remount == .after { try killAndMount() }
    let before = try member.versionCount()
    try commit()
    #expect(try member.tree().keys.sorted() == ["f"])
    #expect(try member.versionCount() == before)
    try killAndMount()
    #expect(try member.tree().keys.sorted() == ["f"])
  }

  enum RemountWhen: CaseIterable { case never, before, after }

  private func killAndMount() throws {
    member.kill()
    try member.mount()
  }

  @Test("a file comes back to the name of a directory that stayed, once that is empty")
  func keptAndEmptiedOverFile() throws {
    try save("e", "one")
    let first = try commit()
    try member.kernel.remove("e")
    try save("e/x", "x", above: "e")
    try commit()
    try show(first) { try save("e/new", "new") }
    try member.kernel.remove("e/new")
    try commit()
    #expect(try texts(member) == ["e": "one"])
  }

  @Test(
    "a file comes back to the name of a directory that stayed, once what was made in it has gone elsewhere",
    arguments: [
      [], ["moved"], ["touched"], ["moved", "touched"], ["changed"], ["moved", "changed"],
    ],
    RemountWhen.allCases)
  func keptAndMovedOut(how: Set<String>, remount: RemountWhen) throws {
    try save("e", "one")
    let first = try commit()
    try member.kernel.remove("e")
    try save("e/x", "x", above: "e")
    try commit()
    try show(first) { try save("e/new", "new") }
    if remount == .before { try killAndMount() }
    let isMoved = how.contains("moved")
    if isMoved {
      try member.kernel.rename("e/new", "new")
    } else {
      try member.kernel.remove("e/new")
    }
    try member.kernel.change("e") {
      if how.contains("touched") { $0.mtime = .init(seconds: 7, nanoseconds: 0) }
      if how.contains("changed") { $0.mode = 0o700 }
    }
    if remount == .after { try killAndMount() }
    let before = try member.versionCount()
    try commit()
    let expected = isMoved ? ["e": "one", "new": "new"] : ["e": "one"]
    #expect(try texts(member) == expected)
    #expect(try member.versionCount() == (isMoved ? before + 1 : before))
    try killAndMount()
    #expect(try texts(member) == expected)
  }

  @Test("a directory that stayed for an open file stays while that is not saved")
  func keptForUnsaved() throws {
    try save("f", "one")
    let first = try commit()
    try save("d/x", "x", above: "d")
    try commit()
    try show(first) { try save("d/new", "new") }
    try member.kernel.remove("d/new")
    let open = try member.kernel.create("d/open")
    try member.run("commit")
    #expect(try member.tree().keys.sorted() == ["d", "d/open", "f"])
    try member.kernel.write(open, Array("two".utf8), at: 0)
    try member.kernel.close(open)
    try commit()
    #expect(try texts(member) == ["d/open": "two", "f": "one"])
  }
}
