import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames
import WorkingTree

@testable import HistoryTree
@testable import TreeSupport

@Suite("Forgotten versions below .llvs", .timeLimit(.minutes(2)))
struct ForgottenListingTests {
  @Test("listings have kept versions alone, and a forgotten one is found by its name")
  func listings() throws {
    let space = try MetaWorkspace()
    let store = space.store
    var random = SeededRandom(seed: 1)
    var names: [String] = []
    var instants: [Int64] = []
    for index in 0..<4 {
      let text = (0..<5000).map { _ in String(random.next(), radix: 36) }.joined()
      try space.write("big", text)
      if index == 1 { try space.write("once", String(text.reversed())) }
      names.append(try space.commit("number \(index)"))
      instants.append(SystemClock.now())
    }
    let first = try #require(try store.version(named: names[0]))
    try store.write { (transaction) throws(StoreError) in
      _ = try transaction.tag(first, as: "first", author: nil)
    }
    let history = try VersionsFileSystem(of: space.meta)
    let before = try history.entry(of: history.top).status.mtime
    try store.forget(
      try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000,
      besides: { () throws(StoreError) in try space.tree.roots() })
    // A listing that the kernel cached is recognised as old.
    #expect(try history.entry(of: history.top).status.mtime != before)
    // The record of the tag is a version too.
    let kept = try space.names("versions")
    #expect(kept.filter(names.contains) == [names[0], names[3]])
    #expect(try space.names("history/big") == [names[0], names[3]])
    // The second version wrote it, and the last one still has it.
    #expect(try space.names("history/once") == [names[1]])
    #expect(try space.names("versions/\(names[1])").sorted() == ["big", "once"])
    #expect(try space.find("versions/\(names[1])/big").status.size > 50_000)
    #expect(try space.read("history/once/\(names[1])").isEmpty == false)
    #expect(throws: (any Error).self) { try space.read("versions/\(names[1])/big") }
    for (path, expected) in [
      ("versions/\(names[0])/big", "here"), ("versions/\(names[1])/big", "forgotten"),
      ("versions/\(names[1])/once", "here"), ("versions/\(names[3])/big", "here"),
    ] {
      let inode = try space.find(path).status.inode
      let value = try space.meta.getxattr(inode, Array("user.llvs.bytes".utf8))
      #expect(String(decoding: value, as: UTF8.self) == expected, "\(path)")
    }
    let inode = try space.tree.lookup(TreeSession.rootInode, Array("big".utf8)).inode
    let live = try space.tree.getxattr(inode, Array("user.llvs.bytes".utf8))
    #expect(String(decoding: live, as: UTF8.self) == "here")
    // The tree showed versions that are forgotten now: the kept one before them is the answer.
    let shown = try instants.map { try space.meta.shown(at: $0)?.name }
    #expect(shown == [names[0], names[0], names[0], names[3]])
    let seconds = instants[2] / 1_000_000_000 + 1
    #expect(try store.version(meant: "at/@\(seconds)").name == names[3])
    #expect(
      try store.keptVersionsNewestFirst(before: nil, limit: 100).map(\.name) == kept.reversed())
  }
}
