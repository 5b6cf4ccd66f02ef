import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Control
@testable import Grammar
@testable import HistoryTree
@testable import TreeNames
@testable import TreeSupport
@testable import WorkingTree

/// What programs save while a switch carries the tree to another line.
@Suite(.timeLimit(.minutes(2)))
struct SwitchUnderWayTests {
  private let space: ControlWorkspace

  init() throws {
    space = try ControlWorkspace()
    try space.run("set settle=1h")
    try space.write("f", "one")
    try space.write("same", "same")
    try space.run("commit")
    try space.run("branch work")
    try space.write("f", "of work")
    try space.write("only", "of work")
    try space.run("commit")
  }

  /// Runs a command, and a body once the cut it begins with is planned.
  private func run(_ line: String, meanwhile: @escaping @Sendable () throws -> Void) throws {
    let (tree, isDone) = (space.tree, Monitor(false))
    let context = CommandContext(isCancelled: {
      guard tree.isMakingVersion else { return false }
      let isFirst = isDone.withLock { isDone in
        defer { isDone = true }
        return !isDone
      }
      if isFirst { #expect(throws: Never.self) { try meanwhile() } }
      return false
    })
    var script = try ControlScript(Array(line.utf8))
    let command = try #require(try script.next())
    _ = try space.service.run(command, context: context)
    #expect(isDone.withLock { $0 })
  }

  private func head(of line: String) throws -> VersionRecord {
    try #require(try space.store.newestHead(ofLine: line))
  }

  private func text(_ name: String, in record: VersionRecord) throws -> String? {
    let view = TreeView(map: space.store.map(record.map))
    guard case .value(let entry)? = try view.find(path: Array(name.utf8)) else { return nil }
    return String(decoding: try space.store.bytes(entry.stored), as: UTF8.self)
  }

  @Test("a save while a switch works is on the line that was left, which is not merged for it")
  func saved() throws {
    let space = space
    try run("switch -") { try space.write("f", "late") }
    #expect(try space.read("only") == nil)
    #expect(try space.read("f") == "late")
    try space.run("commit")
    let record = try #require(try space.store.state().head.flatMap { try space.store.version($0) })
    #expect(record.line == VersionRecord.unnamedLine)
    #expect(try space.read("f") == "one")
    #expect(try space.read("only") == nil)
    let work = try head(of: "work")
    #expect(try text("f", in: work) == "late")
    #expect(try text("only", in: work) == "of work")
    try space.run("switch work")
    #expect(try space.read("f") == "late")
  }

  @Test("what is saved on a line that was left, now and later, leaves one head there")
  func oneHead() throws {
    let space = space
    let handle = try space.tree.open(
      try space.tree.lookup(TreeSession.rootInode, Array("f".utf8)).node, mode: [.write])
    try run("switch -") { try space.write("only", "late") }
    try space.run("commit")
    #expect(try space.read("only") == nil)
    try Array("later".utf8).withUnsafeBytes { try space.tree.write(handle, at: 0, $0) }
    try space.tree.flush(handle)
    try space.tree.release(handle)
    try space.run("commit")
    #expect(try space.read("f") == "one")
    #expect(try space.store.headNumbers(ofLine: "work").count == 1)
    let work = try head(of: "work")
    #expect(try text("only", in: work) == "late")
    #expect(try text("f", in: work) == "laterrk")
    #expect(try space.store.headNumbers(ofLine: VersionRecord.unnamedLine).count == 1)
  }

  @Test("what both lines have alike is saved where the switch led")
  func alike() throws {
    let space = space
    try run("switch -") {
      try space.write("same", "late")
      try space.write("new", "new")
      try space.remove("f")
    }
    try space.run("commit")
    #expect(try space.read("same") == "late")
    #expect(try space.read("new") == "new")
    #expect(try space.read("only") == nil)
    #expect(try space.read("f") == "one")
    let record = try #require(try space.store.state().head.flatMap { try space.store.version($0) })
    #expect(record.line == VersionRecord.unnamedLine)
    #expect(try text("f", in: try head(of: "work")) == nil)
  }

  @Test("a switch to the line that the tree is on keeps what it cuts first")
  func samePlace() throws {
    try space.write("f", "pending")
    try space.run("switch work")
    #expect(try space.read("f") == "pending")
    let record = try #require(try space.store.state().head.flatMap { try space.store.version($0) })
    #expect(try text("f", in: record) == "pending")
    #expect(try space.store.headNumbers(ofLine: "work") == [record.number])
  }

  @Test("who goes on with a file that a branch began under saves on the branch")
  func beforeBranch() throws {
    let space = space
    let handle = try space.tree.open(
      try space.tree.lookup(TreeSession.rootInode, Array("f".utf8)).node, mode: [.write])
    try space.run("branch more")
    // What others brought to the branch meanwhile.
    let head = try #require(try space.store.state().head.flatMap { try space.store.version($0) })
    let made = try space.store.makeVersion(
      basedOnPredecessor: head.id,
      storing: [.update(Value(id: Value.ID("f"), data: Array("of more".utf8)))],
      metadata: [.branch: Version.MetadataValue("more")])
    let number = try #require(try space.store.version(made.id)).number
    _ = try space.service.tree.transition(.command, headReason: .merge) { _, _ in number }
    try Array("late".utf8).withUnsafeBytes { try space.tree.write(handle, at: 0, $0) }
    try space.tree.flush(handle)
    try space.tree.release(handle)
    let work = try self.head(of: "work").number
    try space.run("commit")
    let record = try #require(try space.store.state().head.flatMap { try space.store.version($0) })
    #expect(record.line == "more")
    #expect(record.second != nil)
    #expect(try self.head(of: "work").number == work)
    #expect(try space.store.headNumbers(ofLine: "more") == [record.number])
  }

  @Test("what was begun before the first version came from elsewhere is saved beside it")
  func beforeAll() throws {
    let (other, folder) = (try ControlWorkspace(), space.directory.file("folder"))
    try FileSystem.makeDirectory(folder)
    for one in [space, other] { try one.service.setPeer("usb", address: Array(folder.utf8)) }
    try space.run("switch -")
    try space.run("sync")
    let handle = try other.write("f", "mine", isSaved: false)
    try other.run("sync")
    #expect(try other.read("same") == "same")
    try other.tree.flush(handle)
    try other.tree.release(handle)
    try other.run("commit")
    #expect(try other.read("same") == "same")
    #expect(other.tree.pending().due == nil)
    #expect(["one", "mine"].contains(try other.read("f")))
    try other.run("sync")
    try space.run("sync")
    #expect(try space.read("f") == other.read("f"))
  }
}
