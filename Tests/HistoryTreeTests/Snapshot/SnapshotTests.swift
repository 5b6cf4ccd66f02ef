import LLVSCore
import TestSupport
import Testing
import WorkingTree

@testable import HistoryTree
@testable import TreeSupport

@Suite("Versions as directories", .timeLimit(.minutes(2)))
struct SnapshotTests {
  @Test("a version shows the tree as it was, with modes, times and attributes")
  func contents() throws {
    let space = try MetaWorkspace()
    try space.write("src/a.txt", "one")
    let inode = try space.tree.lookup(try space.directory("src"), Array("a.txt".utf8)).node
    var change = StatusChange()
    change.mode = 0o640
    change.mtime = Attributes.Time(seconds: 1_000_000_000, nanoseconds: 5)
    _ = try space.tree.setattr(inode, change)
    try space.tree.setxattr(
      inode, Array("user.note".utf8), Array("hello".utf8), mode: .either)
    let first = try space.commit()
    try space.write("src/a.txt", "two, longer")
    try space.directory("empty")
    let second = try space.commit()
    #expect(try space.read("versions/\(first)/src/a.txt") == "one")
    #expect(try space.read("versions/\(second)/src/a.txt") == "two, longer")
    #expect(try space.names("versions") == [first, second])
    #expect(try space.names("versions/\(first)") == ["src"])
    #expect(try space.names("versions/\(second)").sorted() == ["empty", "src"])
    let entry = try space.find("versions/\(first)/src/a.txt")
    #expect(entry.isLasting)
    #expect(entry.status.mode == 0o640)
    #expect(entry.status.mtime == Attributes.Time(seconds: 1_000_000_000, nanoseconds: 5))
    #expect(entry.status.size == 3)
    #expect(entry.status.links == 2)
    let meta = space.meta
    let old = entry.status.inode
    #expect(try meta.getxattr(old, Array("user.note".utf8)) == Array("hello".utf8))
    #expect(try meta.listxattr(old) == Array("user.note\0".utf8))
    #expect(try meta.getxattr(old, Array("user.llvs.key".utf8)) == Array("src/a.txt".utf8))
    #expect(try meta.getxattr(old, Array("user.llvs.version".utf8)) == Array(first.utf8))
    #expect(try meta.getxattr(old, Array("user.llvs.revisions".utf8)) == Array("2".utf8))
    #expect(fault { _ = try meta.getxattr(old, Array("user.none".utf8)) } == "noData")
    #expect(space.failure("versions/\(first)/none").map { "\($0)" } == "noEntry")
    #expect(space.failure("versions/\(first)/src/a.txt/x").map { "\($0)" } == "notDirectory")
  }

  @Test("versions that share a revision share its number; two keys never do")
  func sharing() throws {
    let space = try MetaWorkspace()
    try space.write("a", "same")
    try space.write("b", "same")
    let first = try space.commit()
    try space.write("b", "other")
    let second = try space.commit()
    func inode(_ path: String) throws -> UInt64 { try space.find(path).status.inode }
    #expect(try inode("versions/\(first)/a") == inode("versions/\(second)/a"))
    #expect(try inode("versions/\(first)/a") != inode("versions/\(first)/b"))
    #expect(try inode("versions/\(first)/b") != inode("versions/\(second)/b"))
    #expect(try inode("history/b/\(second)") == inode("versions/\(second)/b"))
    #expect(try inode("versions/\(first)") != inode("versions/\(second)"))
  }

  @Test("a subdirectory's .llvs is rooted there and lists only versions that changed it")
  func subdirectory() throws {
    let space = try MetaWorkspace()
    try space.write("readme", "one")
    let first = try space.commit()
    try space.write("src/deep/a.txt", "one")
    let second = try space.commit()
    try space.write("readme", "two")
    let third = try space.commit()
    try space.write("src/deep/a.txt", "two")
    let fourth = try space.commit()
    let src = try space.directory("src")
    #expect(try space.names("versions", from: src) == [second, fourth])
    #expect(try space.names("versions") == [first, second, third, fourth])
    #expect(try space.names("versions/\(second)", from: src) == ["deep"])
    #expect(try space.read("versions/\(third)/deep/a.txt", from: src) == "one")
    #expect(try space.names("versions/\(first)", from: src).isEmpty)
    #expect(try space.link("head", from: src) == "versions/\(fourth)")
    #expect(try space.read("history/deep/a.txt/\(fourth)", from: src) == "two")
    // The live directory moves; its `.llvs` goes with it.
    try space.tree.rename(
      TreeSession.rootInode, Array("src".utf8), TreeSession.rootInode, Array("source".utf8),
      mode: .replacing)
    #expect(try space.names("versions", from: src).isEmpty)
    let fifth = try space.commit()
    #expect(try space.names("versions", from: src) == [fifth])
    #expect(try space.read("versions/\(fifth)/deep/a.txt", from: src) == "two")
  }

  @Test("in a version .llvs has info, parents and changes, for the directory it is in")
  func snapshotMeta() throws {
    let space = try MetaWorkspace()
    try space.write("src/a.txt", "one")
    try space.write("gone", "x")
    let first = try space.commit("the first")
    try space.write("src/a.txt", "two")
    try space.write("src/new\nline", "n")
    try space.tree.unlink(TreeSession.rootInode, Array("gone".utf8))
    let second = try space.commit("the second")
    let at = "versions/\(second)"
    #expect(try space.names("\(at)/.llvs") == ["info", "parents", "changes"])
    #expect(
      try space.read("\(at)/.llvs/changes") == "- gone\n* src/a.txt\n+ src/new\\012line\n")
    #expect(try space.read("\(at)/src/.llvs/changes") == "* a.txt\n+ new\\012line\n")
    #expect(try space.link("\(at)/.llvs/parents/1") == "../../../\(first)")
    #expect(try space.link("\(at)/src/.llvs/parents/1") == "../../../../\(first)/src")
    #expect(try space.names("\(at)/.llvs/parents") == ["1"])
    #expect(try space.names("versions/\(first)/.llvs/parents").isEmpty)
    let src = try space.directory("src")
    #expect(
      try space.link("versions/\(second)/.llvs/parents/1", from: src) == "../../../\(first)")
    let info = try space.read("\(at)/.llvs/info")
    for part in [second, first, "the second", "1 changed, 1 new, 1 removed"] {
      #expect(info.contains(part), "\(part)")
    }
    #expect(try space.read("versions/\(first)/.llvs/changes").contains("+ gone\n"))
    #expect(
      fault {
        _ = try space.meta.open(
          try space.find("\(at)/.llvs/info").status.inode, writing: true)
      } == "readOnly")
  }

  @Test("history has each revision of a value once, under the version that first held it")
  func history() throws {
    let space = try MetaWorkspace()
    try space.write("src/a.txt", "one")
    let first = try space.commit()
    try space.write("other", "x")
    let second = try space.commit()
    try space.write("src/a.txt", "two")
    let third = try space.commit()
    try space.tree.unlink(try space.directory("src"), Array("a.txt".utf8))
    try space.tree.removeDirectory(TreeSession.rootInode, Array("src".utf8))
    try space.commit()
    #expect(try space.names("history") == ["other"])
    // What is gone is still found by name.
    #expect(try space.names("history/src/a.txt") == [first, third])
    #expect(try space.read("history/src/a.txt/\(first)") == "one")
    #expect(try space.read("history/src/a.txt/\(third)") == "two")
    #expect(try space.read("history/src/a.txt/\(second)") == "one")
    #expect(space.failure("history/nothing").map { "\($0)" } == "noEntry")
    // A component that is a version's name is escaped.
    try space.write(first, "named as a version")
    let fifth = try space.commit()
    #expect(try space.names("history").sorted() == ["%llvs%\(first)", "other"].sorted())
    #expect(try space.read("history/%llvs%\(first)/\(fifth)") == "named as a version")
  }

  @Test("100,000 versions are listed with bounded memory, in any page size and from any offset")
  func manyVersions() throws {
    let space = try MetaWorkspace()
    let count = 100_000
    for start in stride(from: 0, to: count, by: 10_000) {
      try space.store.write { (transaction) throws(StoreError) in
        for index in start..<(start + 10_000) {
          let number = try transaction.reserveVersion()
          try transaction.add(
            NewVersion(
              number: number, id: Version.ID("V\(index)"),
              first: number.rawValue > 1 ? VersionNumber(number.rawValue - 1) : nil,
              timestamp: 800_000_000 + Double(index), map: .empty))
        }
      }
    }
    let versions = try space.find("versions").status.inode
    let directory = try space.meta.openDirectory(versions)
    var offset: UInt64 = 0
    var seen = 0
    while true {
      let page = try directory.next(after: offset, limit: 1000)
      guard let last = page.last else { break }
      seen += page.count
      offset = last.next
    }
    #expect(seen == count + 2)
    // Listing makes no nodes.
    #expect(space.meta.nodeCount == 2)
    let middle = try directory.next(after: 50_002, limit: 2)
    #expect(
      middle.map { String(decoding: $0.name, as: UTF8.self) }.first?.hasSuffix("V50000") == true)
    #expect(try directory.lookup(middle[0]).status.inode == middle[0].inode)
  }
}
