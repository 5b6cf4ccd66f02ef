import LLVSCore
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import HistoryTree
@testable import TreeSupport
@testable import WorkingTree

@Suite("conflicts", .timeLimit(.minutes(1)))
struct ConflictFilesTests {
  /// A tree that merged another line in which the same values were changed, or removed.
  private func clashed(_ names: [String], removed: [String] = []) throws -> MetaWorkspace {
    let space = try MetaWorkspace()
    for name in names + removed { try space.write(name, "base\n") }
    try space.commit()
    try space.space.run("branch other")
    for name in names + removed { try space.write(name, "other\n") }
    try space.commit()
    try space.space.run("switch -")
    for name in names { try space.write(name, "this\n") }
    for name in removed { try space.remove(name) }
    try space.commit()
    try space.space.run("merge other using most-recent-branch")
    return space
  }

  @Test("what clashed is plain files, and rmdir settles")
  func files() throws {
    let space = try clashed(["a", "d/e/f", "d/base"], removed: ["gone"])
    #expect(try space.names("conflicts") == ["a", "d", "gone"])
    #expect(try space.names("conflicts/a") == ["base", "ours", "theirs", "merged"])
    #expect(try space.names("conflicts/gone") == ["base", "theirs"])
    #expect(try space.names("conflicts/d") == ["%llvs%base", "e"])
    #expect(try space.read("conflicts/a/base") == "base\n")
    #expect(try space.read("conflicts/a/ours") == "this\n")
    #expect(try space.read("conflicts/a/theirs") == "other\n")
    #expect(try space.read("conflicts/d/%llvs%base/theirs") == "other\n")
    let subdirectory = try space.directory("d")
    #expect(try space.names("conflicts", from: subdirectory) == ["%llvs%base", "e"])
    #expect(try space.read("conflicts/e/f/theirs", from: subdirectory) == "other\n")
    #expect(space.failure("conflicts/a/theirs.2").map { "\($0)" } == "noEntry")
    #expect(space.failure("conflicts/nothing").map { "\($0)" } == "noEntry")
    let inode = try space.find("conflicts/a/ours").status.inode
    #expect(fault { _ = try space.meta.open(inode, writing: true) } == "readOnly")
    // As rm -r does.
    for name in try space.names("conflicts/a") { try space.unlink(name, in: "conflicts/a") }
    let top = try space.find("conflicts").status.inode
    try space.meta.removeDirectory(top, Array("a".utf8))
    #expect(try space.names("conflicts") == ["d", "gone"])
    #expect(fault { try space.meta.removeDirectory(top, Array("d".utf8)) } == "notEmpty")
    let below = try space.find("conflicts/d").status.inode
    let deep = try space.find("conflicts/d/e").status.inode
    try space.meta.removeDirectory(deep, Array("f".utf8))
    try space.meta.removeDirectory(below, Array("e".utf8))
    try space.meta.removeDirectory(below, Array("%llvs%base".utf8))
    try space.meta.removeDirectory(top, Array("d".utf8))
    #expect(try space.names("conflicts") == ["gone"])
    try space.space.run("settle gone theirs")
    #expect(try space.names("conflicts").isEmpty)
    #expect(try space.space.read("gone") == "other\n")
    #expect(try space.space.read("a") == "this\n")
    let meta = try space.find("").status.inode
    #expect(
      fault { try space.meta.removeDirectory(meta, Array("conflicts".utf8)) } == "notPermitted")
  }

  @Test("writing the file settles at its next version")
  func written() throws {
    let space = try clashed(["a"])
    func state() throws -> String {
      let inode = try space.tree.lookup(TreeSession.rootInode, Array("a".utf8)).node
      return String(
        decoding: try space.tree.getxattr(inode, Array("user.llvs.state".utf8)), as: UTF8.self)
    }
    #expect(try state() == "conflict")
    try space.write("a", try space.read("conflicts/a/theirs"))
    #expect(try space.names("conflicts") == ["a"])
    try space.commit()
    #expect(try space.names("conflicts").isEmpty)
    #expect(try state() == "committed")
  }

  static let marked = "<<<<<<< ours\nthis\n=======\nother\n>>>>>>> theirs\n"

  @Test("merged has the clash between markers, and saved without them it settles")
  func merged() throws {
    let space = try clashed(["a", "d/b"])
    #expect(try space.read("conflicts/a/merged") == Self.marked)
    // Saved between two clashes: the text is kept, and the conflict stays open.
    try space.save("conflicts/a/merged", "x\n" + Self.marked)
    #expect(try space.read("conflicts/a/merged") == "x\n" + Self.marked)
    #expect(try space.names("conflicts") == ["a", "d"])
    #expect(try space.space.read("a") == "this\n")
    try space.save("conflicts/a/merged", "this and other\n")
    #expect(try space.names("conflicts") == ["d"])
    #expect(try space.space.read("a") == "this and other\n")
    #expect(space.failure("conflicts/a").map { "\($0)" } == "noEntry")
    // A value that is what it was settles too.
    let directory = try space.directory("d")
    let file = try space.meta.open(
      try space.find("conflicts/b/merged", from: directory).status.inode, writing: true,
      truncating: true)
    try file.flush()
    #expect(try space.names("conflicts") == ["d"], "a shell empties a file first")
    try Array("this\n".utf8).withUnsafeBytes { try file.write(at: 0, $0) }
    try file.flush()
    #expect(try space.names("conflicts").isEmpty)
    // Another process that had the descriptor goes on writing.
    try Array("and more\n".utf8).withUnsafeBytes { try file.write(at: 5, $0) }
    try file.flush()
    file.release()
    #expect(try space.read("history/d/b/\(space.space.head ?? "")") == "this\nand more\n")
  }

  @Test(
    "of JSON the properties that clash stand between markers, in merged and in the tree by themselves"
  )
  func properties() throws {
    let space = try MetaWorkspace()
    try space.write("o.json", #"{"a":1,"b":1,"c":1}"#)
    try space.commit()
    try space.space.run("branch other")
    try space.write("o.json", #"{"a":2,"b":5,"c":1}"#)
    try space.commit()
    try space.space.run("switch -")
    try space.write("o.json", #"{"a":3,"b":1,"c":1}"#)
    try space.commit()
    let reply = try space.space.run("merge other")
    #expect(reply.text.contains("1 conflict: o.json"))
    #expect(try space.space.read("o.json") == #"{"a":3,"b":5,"c":1}"#)
    #expect(try space.read("conflicts/o.json/theirs") == #"{"a":2,"b":5,"c":1}"#)
    #expect(
      try space.read("conflicts/o.json/merged")
        == "{\n<<<<<<< ours\n\"a\":3,\n=======\n\"a\":2,\n>>>>>>> theirs\n\"b\":5,\"c\":1}")
    try space.save("conflicts/o.json/merged", #"{"a":2,"b":5,"c":1}"#)
    #expect(try space.names("conflicts").isEmpty)
  }

  @Test("the conflicts of one directory are the same, found by themselves or among all")
  func parts() throws {
    let space = try clashed(["a", "d/e/f", "d/base", "d/%llvs%x", "de", "f"], removed: ["d/gone"])
    // A directory takes the name of what clashed: that is shown under another.
    try space.space.run("branch third")
    try space.space.remove("f")
    try space.write("f/inner", "in its place\n")
    try space.commit()
    try space.space.run("switch -")
    try space.write("f", "once more\n")
    try space.commit()
    try space.space.run("merge third")
    let meta = space.meta
    var paths: [[UInt8]] = [Array("none".utf8), Array("d/nothing".utf8)]
    for shown in try meta.shownConflicts() {
      var path = shown.path
      paths.append(path)
      while let slash = path.lastIndex(of: 0x2F) {
        path = Array(path[..<slash])
        paths.append(path)
      }
    }
    #expect(paths.contains { String(decoding: $0, as: UTF8.self).contains("%llvs%f") })
    for path in paths {
      let all = try meta.shownConflicts(atOrBelow: path).map(\.path)
      // Of a head that nobody asked about before.
      meta.conflicts.state.withLock { state in
        state.head = nil
        state.part = nil
      }
      #expect(try meta.shownConflicts(atOrBelow: path).map(\.path) == all)
      let below = try space.space.service.openConflicts(below: path).map(\.path)
      #expect(below == all.filter { below.contains($0) })
      _ = try meta.shownConflicts()
    }
  }

  @Test("a directory that is settled while its files are known leaves them readable")
  func settledBefore() throws {
    let space = try clashed(["a", "b"])
    let merged = try space.find("conflicts/a/merged").status.inode
    try space.save("conflicts/a/.merged.swp", "swap")
    let scratch = try space.find("conflicts/a/.merged.swp").status.inode
    let edited = try space.meta.open(merged, writing: true)
    try space.meta.removeDirectory(try space.find("conflicts").status.inode, Array("a".utf8))
    #expect(try space.names("conflicts") == ["b"])
    for inode in [merged, scratch] { #expect(try space.meta.getattr(inode).inode == inode) }
    // What was being edited is saved as a change of the value itself.
    let text = Array("after all\n".utf8)
    var cut = StatusChange()
    cut.size = 0
    _ = try space.meta.setattr(merged, cut, through: edited)
    try text.withUnsafeBytes { try edited.write(at: 0, $0) }
    try edited.flush()
    edited.release()
    #expect(try space.space.read("a") == "after all\n")
    for inode in [merged, scratch] { space.meta.forget(inode, count: 1) }
  }

  @Test("an editor's other names are scratch, and a rename onto merged is a save")
  func editors() throws {
    let space = try clashed(["a"])
    try space.save("conflicts/a/.merged.swp", "swap")
    try space.rename("merged", "merged~", in: "conflicts/a")
    #expect(try space.read("conflicts/a/merged~") == Self.marked)
    try space.rename("merged~", "merged", in: "conflicts/a")
    #expect(try space.space.read("a") == "this\n")
    try space.save("conflicts/a/new", Self.marked)
    try space.rename("new", "merged", in: "conflicts/a")
    #expect(try space.read("conflicts/a/merged") == Self.marked)
    #expect(try space.names("conflicts") == ["a"])
    try space.save("conflicts/a/new", "settled\n")
    #expect(fault { try space.rename("new", "ours", in: "conflicts/a") } == "readOnly")
    #expect(fault { try space.save("conflicts/a/theirs.9", "x") } == "readOnly")
    #expect(fault { try space.save("conflicts/x", "x") } == "notPermitted")
    try space.rename("new", "merged", in: "conflicts/a")
    #expect(try space.space.read("a") == "settled\n")
    #expect(try space.names("conflicts").isEmpty)
    // The editor tidies up behind it.
    try space.unlink(".merged.swp", in: "conflicts/a")
    #expect(space.failure("conflicts/a").map { "\($0)" } == "noEntry")
  }

  @Test("a draft that was begun before the value changed is merged with that change")
  func staleDraft() throws {
    let space = try MetaWorkspace()
    let lines = "1\n2\n3\n4\n5\n"
    try space.write("a", lines)
    try space.commit()
    try space.space.run("branch other")
    try space.write("a", lines.replacing("2", with: "other"))
    try space.commit()
    try space.space.run("switch -")
    try space.write("a", lines.replacing("2", with: "this"))
    try space.commit()
    try space.space.run("merge other")
    #expect(try space.names("conflicts") == ["a"])
    let text = try space.read("conflicts/a/merged")
    #expect(text.contains("this\n=======\nother\n") || text.contains("other\n=======\nthis\n"))
    // Settled meanwhile, with a change at the end.
    let now = try #require(try space.space.read("a"))
    try space.write("a", now.replacing("5", with: "five"))
    try space.commit()
    #expect(try space.names("conflicts").isEmpty)
    let place = try #require(space.meta.knownPlace(of: Array("a".utf8)))
    let file = try place.create(WritablePlace.mergedName, mode: 0o644)
    try Array(lines.replacing("2", with: "both").utf8).withUnsafeBytes {
      try place.write(file, at: 0, $0)
    }
    try place.save(file)
    let outcome = try #require(try space.space.read("a"))
    #expect(outcome.hasSuffix("five\n"))
    let isListed = try space.names("conflicts") == ["a"]
    #expect(outcome.contains("both") || isListed)
  }

  @Test(
    "what is no text, or lacks a side, has no merged; sides beside each other are merged at once")
  func absent() throws {
    let space = try clashed(["a"], removed: ["gone"])
    #expect(space.failure("conflicts/gone/merged").map { "\($0)" } == "noEntry")
    try space.write("bin", "0\u{0}")
    try space.commit()
    try space.space.run("switch - as again")
    try space.write("bin", "1\u{0}")
    try space.commit()
    try space.space.run("switch -")
    try space.write("bin", "2\u{0}")
    try space.commit()
    try space.space.run("merge again")
    #expect(try space.names("conflicts/bin") == ["base", "ours", "theirs"])
    let draft = try space.meta.open(
      try space.find("conflicts/a/merged").status.inode, writing: true)
    #expect(fault { try draft.resize(to: 33 << 20) } == "fileTooBig")
    draft.release()
  }
}
