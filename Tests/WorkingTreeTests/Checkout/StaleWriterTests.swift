import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Grammar
@testable import TreeNames
@testable import TreeSupport
@testable import WorkingTree

/// The version that a writer had seen: docs/writes.md, rule 7.
@Suite(.timeLimit(.minutes(2)))
struct StaleWriterTests {
  let mount: MountedTree
  let directory: TemporaryDirectory
  /// This process is the editor; threads are told by their numbers.
  let editor = ProcessInfo.processInfo.processIdentifier

  static let base = "one\ntwo\nthree\nfour\n"
  static let there = "one\ntwo\nthree\nfour there\n"
  static let here = "one here\ntwo\nthree\nfour\n"
  static let both = "one here\ntwo\nthree\nfour there\n"

  init() throws {
    directory = try TemporaryDirectory()
    mount = try MountedTree.unhurried(directory.path)
    try mount.save("f", Self.base)
    try mount.save("g", "g")
    try mount.cut()
  }

  func open(
    _ path: String, _ mode: LiveHandle.Mode, by thread: Int32
  ) throws -> LiveHandle {
    try mount.with(path) { parent, name in
      let inode = try mount.tree.lookup(parent, name).node
      defer { mount.forget(inode) }
      return try mount.tree.open(inode, mode: mode, thread: thread)
    }
  }

  func load(_ path: String, by thread: Int32) throws {
    try mount.close(try open(path, .read, by: thread))
  }

  func create(_ path: String, by thread: Int32) throws -> LiveHandle {
    try mount.with(path) { parent, name in
      let (status, handle) = try mount.tree.create(
        parent, name, mode: 0o644, open: .write,
        caller: Caller(uid: 1000, gid: 1000, process: thread))
      mount.forget(status.node)
      return handle
    }
  }

  func fill(_ handle: LiveHandle, _ text: String) throws {
    try mount.write(handle, Array(text.utf8))
    try mount.close(handle)
  }

  func move(_ from: String, _ to: String, by thread: Int32) throws {
    try mount.with(from) { parent, name in
      try mount.with(to) {
        try mount.tree.rename(parent, name, $0, $1, mode: .replacing, thread: thread)
      }
    }
  }

  /// Another replica's version of a file on a version, or on the head.
  func edited(
    _ text: String, on base: VersionNumber? = nil, of name: String = "f"
  ) throws -> VersionNumber {
    let head = try mount.store.state().head
    let version = try #require(try (base ?? head).flatMap { try mount.store.version($0) })
    let made = try mount.store.makeVersion(
      basedOnPredecessor: version.id,
      storing: [.update(Value(id: Value.ID(name), data: Array(text.utf8)))])
    return try #require(try mount.store.version(made.id)).number
  }

  /// What the other side saved comes in, as a sync brings it.
  func retrieve(_ text: String, on base: VersionNumber? = nil) throws {
    let other = try edited(text, on: base)
    _ = try mount.tree.transition(.command, headReason: .merge) {
      (transaction, head) throws(StoreError) in
      guard let head else { return other }
      let arbiter = ChosenArbiter.maker([], transaction.store)
      return try transaction.mergeSides([head, other], live: head, arbiter: arbiter).outcome
    }
    #expect(mount.text("f") == text)
  }

  /// A way in which an editor that holds no handle saves.
  enum Way: CaseIterable { case truncating, renaming, creating, cutting, cuttingByPath }

  func save(_ text: String, _ way: Way, by thread: Int32) throws {
    switch way {
    case .truncating: try fill(try open("f", [.write, .truncate], by: thread), text)
    case .renaming:
      try fill(try create("f.tmp", by: thread), text)
      try move("f.tmp", "f", by: thread)
    case .creating:
      // vim's backupcopy=no: the old file goes aside, a new one takes its name.
      try move("f", "f~", by: thread)
      try fill(try create("f", by: thread), text)
      try mount.unlink("f~")
    case .cutting:
      // Opened for reading too, as VS Code does, and cut to nothing unread.
      let handle = try open("f", [.read, .write], by: thread)
      _ = try mount.tree.resize(handle.inode, to: 0, through: handle)
      try fill(handle, text)
    case .cuttingByPath:
      try mount.with("f") { parent, name in
        let inode = try mount.tree.lookup(parent, name).node
        _ = try mount.tree.resize(inode, to: 0, through: nil, thread: thread)
        mount.forget(inode)
      }
      try fill(try open("f", .write, by: thread), text)
    }
  }

  @Test(
    "An editor left open over a merge saves beside it, however it saves", arguments: Way.allCases)
  func leftOpen(_ way: Way) throws {
    try load("f", by: editor)
    try retrieve(Self.there)
    try save(Self.here, way, by: editor)
    #expect(mount.text("f") == Self.here, "until the cut the name shows what was saved")
    let outcome = try mount.cut()
    #expect(outcome.head?.second != nil)
    #expect(mount.text("f") == Self.both)
    #expect(try mount.head() == ["f": Self.both, "g": "g"])
  }

  @Test(
    "What it saves again goes on from its own save, not from the merge", arguments: Way.allCases)
  func savesAgain(_ way: Way) throws {
    try load("f", by: editor)
    try retrieve(Self.there)
    try save(Self.here, way, by: editor)
    try mount.cut()
    // The same line again: on the first predecessor it would clash with the editor's own save.
    let more = Self.here.replacingOccurrences(of: "one here", with: "one here and here")
    try save(more, way, by: editor)
    try mount.cut()
    #expect(mount.text("f") == more.replacingOccurrences(of: "four", with: "four there"))
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test("Without a merge in between, or once it has read again, an editor saves on the head")
  func upToDate() throws {
    try load("f", by: editor)
    try mount.save("g", "g2")
    try mount.cut()
    try save(Self.here, .renaming, by: editor)
    #expect(try mount.cut().head?.second == nil)
    try retrieve(Self.both)
    try load("f", by: editor)
    try save(Self.there, .truncating, by: editor)
    #expect(try mount.cut().head?.second == nil)
    #expect(mount.text("f") == Self.there)
  }

  @Test("A program that never read the file, or one that is gone, replaces what is there")
  func others() throws {
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/bin/sleep")
    child.arguments = ["60"]
    try child.run()
    defer { child.terminate() }
    try load("f", by: editor)
    try retrieve(Self.there)
    try save(Self.here, .truncating, by: child.processIdentifier)
    #expect(try mount.cut().head?.second == nil)
    #expect(mount.text("f") == Self.here)
    // A number that nobody has.
    try save(Self.base, .truncating, by: 1 << 22)
    #expect(try mount.cut().head?.second == nil)
    try retrieve(Self.there)
    try save(Self.here, .truncating, by: child.processIdentifier)
    #expect(try mount.cut().head?.second == nil)
  }

  @Test("A handle that read what it rewrites has seen the head, whatever its process read before")
  func readThrough() throws {
    try load("f", by: editor)
    try retrieve(Self.there)
    let handle = try open("f", [.read, .write], by: editor)
    #expect(handle.dropsPages)
    mount.tree.noteRead(handle)
    _ = try mount.tree.resize(handle.inode, to: 0, through: handle)
    try fill(handle, "all new\n")
    #expect(try mount.cut().head?.second == nil)
    #expect(mount.text("f") == "all new\n")
  }

  @Test("A handle open over a merge saves twice beside it and loses neither side")
  func handleTwice() throws {
    let handle = try open("f", [.read, .write], by: editor)
    try retrieve(Self.there)
    try mount.write(handle, Array(Self.here.utf8))
    try mount.tree.flush(handle)
    try mount.cut()
    #expect(mount.text("f") == Self.both)
    try mount.write(handle, Array(Self.here.replacingOccurrences(of: "one", with: "ONE").utf8))
    try mount.close(handle)
    try mount.cut()
    #expect(mount.text("f") == Self.both.replacingOccurrences(of: "one", with: "ONE"))
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test("Who opens bytes that are pending on an older version has seen that version")
  func pending() throws {
    let handle = try open("f", .write, by: 0)
    try mount.write(handle, Array(Self.here.utf8))
    // Not saved when the merge comes, so the name goes on showing it.
    let base = try mount.store.state().head
    let other = try edited(Self.there, on: base)
    _ = try mount.tree.transition(.command) { (transaction, head) throws(StoreError) in
      try transaction.mergeSides([head, other].compactMap { $0 }, live: head).outcome
    }
    #expect(mount.text("f") == Self.here)
    try mount.close(handle)
    try fill(
      try open("f", .write, by: 0), Self.here.replacingOccurrences(of: "two", with: "TWO"))
    try mount.cut()
    #expect(mount.text("f") == Self.both.replacingOccurrences(of: "two", with: "TWO"))
  }
}
