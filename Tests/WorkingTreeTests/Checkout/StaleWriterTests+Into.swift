import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// An editor that had seen an older version saves into a file that others have open.
extension StaleWriterTests {
  private static let lines = "1\n2\n3\n4\n5\n6\n7\n"

  @Test(
    "Who had the file open then does not take back what a merge had brought, before a cut or after",
    arguments: [false, true])
  func savedInto(isCut: Bool) throws {
    let lines = Self.lines
    try mount.save("f", lines)
    try mount.cut()
    try load("f", by: editor)
    try retrieve(lines.replacingOccurrences(of: "7", with: "7 there"))
    let handle = try open("f", [.read, .write], by: 0)
    let here = lines.replacingOccurrences(of: "1", with: "I")
    try save(here, .truncating, by: editor)
    if isCut { try mount.cut() }
    // It is what the handle shows now, without what came from there.
    try mount.write(handle, Array(here.replacingOccurrences(of: "4", with: "F").utf8))
    try mount.close(handle)
    try mount.cut()
    let all = "I\n2\n3\nF\n5\n6\n7 there\n"
    #expect(mount.text("f") == all)
    #expect(try mount.head()["f"] == all)
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test("Two who write one file in turn, opened over a merge of another, make one line of versions")
  func inTurn() throws {
    let first = try open("f", [.read, .write], by: 0)
    let number = try edited("other", on: nil, of: "g")
    _ = try mount.tree.transition(.command, headReason: .merge) { _, _ in number }
    let second = try open("f", [.read, .write], by: 0)
    for (index, handle) in [first, second, first, second, second, first].enumerated() {
      try mount.write(handle, Array("\(index)".utf8))
      try mount.tree.flush(handle)
      #expect(try mount.cut().head?.second == nil)
    }
    try mount.close(first)
    try mount.close(second)
  }

  /// Another replica's change of another file comes in.
  private func mergeElsewhere(_ text: String) throws {
    let number = try edited(text, on: nil, of: "g")
    _ = try mount.tree.transition(.command, headReason: .merge) { _, _ in number }
  }

  @Test("So they do where merges of another come between any two saves")
  func inTurnOverMerges() throws {
    let handles = try (0..<3).map { _ in try open("f", [.read, .write], by: 0) }
    for (round, turn) in [0, 1, 2, 1, 0, 0, 2, 1].enumerated() {
      try mergeElsewhere("\(round)")
      try mount.write(handles[turn], Array("\(round)".utf8))
      if round != 3 {
        try mount.tree.flush(handles[turn])
      } else {
        try mount.tree.fsync(handles[turn])
      }
      #expect(try mount.cut().head?.second == nil)
    }
    for handle in handles { try mount.close(handle) }
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test(
    "A process that keeps a file open and saves it otherwise is not at odds with itself",
    arguments: Way.allCases)
  func ownSaves(way: Way) throws {
    let handle = try open("f", [.read, .write], by: editor)
    try mergeElsewhere("1")
    try save("one\n", way, by: editor)
    try mount.cut()
    try mergeElsewhere("2")
    let again = try open("f", [.read, .write], by: editor)
    mount.tree.noteRead(again)
    try mount.write(again, Array("two\n".utf8))
    try mount.close(again)
    try save("three\n", way, by: editor)
    try mount.cut()
    try mergeElsewhere("3")
    try save("four\n", way, by: editor)
    try mount.close(handle)
    #expect(try mount.cut().head?.second == nil)
    #expect(mount.text("f") == "four\n")
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test("A process that moves file after file over a name is not at odds with itself")
  func movedOver() throws {
    for name in ["a", "b", "c"] { try mount.save(name, name) }
    try mount.cut()
    try load("f", by: editor)
    for name in ["a", "b", "c"] {
      try mergeElsewhere("before \(name)")
      try move(name, "f", by: editor)
      #expect(try mount.cut().head?.second == nil)
      #expect(try mount.head()["f"] == name)
    }
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test("Nor is one that links files to a name, or removes it and makes it anew")
  func linkedAndRemoved() throws {
    for name in ["a", "b"] { try mount.save(name, name) }
    try mount.cut()
    try load("f", by: editor)
    for name in ["a", "b"] {
      try mergeElsewhere("before \(name)")
      try mount.with("f") { try mount.tree.unlink($0, $1, thread: editor) }
      if name == "b" {
        #expect(try mount.cut().head?.second == nil)
        try mergeElsewhere("between")
      }
      try mount.with(name) { parent, child in
        let status = try mount.tree.lookup(parent, child)
        try mount.with("f") {
          mount.forget(try mount.tree.link(status.node, $0, $1, thread: editor).node)
        }
        mount.forget(status.node)
      }
      #expect(try mount.cut().head?.second == nil)
      try mergeElsewhere("after \(name)")
      try save(name + name, .renaming, by: editor)
      #expect(try mount.cut().head?.second == nil)
      #expect(try mount.head()["f"] == name + name)
    }
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test("Nor is one that moves a file to a name which it had made and left before any version")
  func leftBefore() throws {
    func make(_ name: String) throws {
      try fill(try create(name, by: editor), name)
      try load(name, by: editor)
    }
    try make("a")
    try move("a", "b", by: editor)
    try mount.cut()
    try mergeElsewhere("there")
    try load("f", by: editor)
    try save("here", .truncating, by: editor)
    try mount.cut()
    try make("c")
    try move("c", "a", by: editor)
    try fill(try open("a", [.write, .truncate], by: editor), "anew")
    try move("a", "f", by: editor)
    #expect(try mount.cut().head?.second == nil)
    #expect(try mount.head()["f"] == "anew")
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test("Nor is one that saves a file of several names under one and another")
  func linkedNames() throws {
    func link(_ from: String, _ to: String) throws {
      try mount.with(from) { parent, child in
        let status = try mount.tree.lookup(parent, child)
        try mount.with(to) { mount.forget(try mount.tree.link(status.node, $0, $1).node) }
        mount.forget(status.node)
      }
    }
    try link("f", "h")
    try mount.cut()
    try load("f", by: editor)
    try mergeElsewhere("1")
    try mount.unlink("f")
    try link("h", "f")
    let handle = try open("h", [.read, .write], by: editor)
    mount.tree.noteRead(handle)
    try fill(handle, "saved as h")
    try mount.cut()
    try mergeElsewhere("2")
    try mount.unlink("h")
    try mount.cut()
    try mergeElsewhere("3")
    try save("saved as f", .truncating, by: editor)
    #expect(try mount.cut().head?.second == nil)
    #expect(try mount.head()["f"] == "saved as f")
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }
}
