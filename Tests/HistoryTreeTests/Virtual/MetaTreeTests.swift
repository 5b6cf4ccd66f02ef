import Events
import HistoryTree
import LLVSCore
import TestSupport
import Testing
import TreeNames
import WorkingTree

@testable import Control
@testable import TreeSupport

@Suite("The names below .llvs", .timeLimit(.minutes(2)))
struct MetaTreeTests {
  static let names = [
    "README", "control", "status", "status.json", "log", "heads", "branches", "tags", "versions",
    "at",
    "history", "conflicts", "search", "peers", "ignore",
  ]

  @Test(".llvs is in every directory and in no listing, and head is absent until the first version")
  func names() throws {
    let space = try MetaWorkspace()
    #expect(try space.names("").sorted() == Self.names.sorted())
    #expect(space.failure("head").map { "\($0)" } == "noEntry")
    try space.write("src/a.txt", "one")
    let version = try space.commit("first")
    #expect(try space.names("").sorted() == (Self.names + ["head"]).sorted())
    #expect(try space.link("head") == "versions/\(version)")
    let src = try space.directory("src")
    #expect(try space.names("", from: src).sorted() == (Self.names + ["head"]).sorted())
    #expect(
      try space.tree.list(TreeSession.rootInode).items.allSatisfy { $0.name != Array(".llvs".utf8) }
    )
    for item in try space.items("versions/\(version)") { #expect(item.name != Array(".llvs".utf8)) }
    let file = try space.tree.lookup(src, Array("a.txt".utf8)).inode
    #expect(fault { _ = try space.meta.metaDirectory(of: file) } == "notDirectory")
    for path in ["versions/.llvs", "peers/.llvs", ".llvs", "history/.llvs", "at/.llvs"] {
      #expect(space.failure(path).map { "\($0)" } == "noEntry", "\(path)")
    }
  }

  @Test("a listing tells the numbers that look-ups give, and no two things have one number")
  func numbers() throws {
    let space = try MetaWorkspace()
    try space.write("src/a.txt", "one")
    try space.write("b.txt", "one")
    let version = try space.commit()
    var seen: [UInt64: String] = [:]
    for path in [
      "", "versions", "versions/\(version)", "versions/\(version)/src", "heads", "at",
      "branches", "tags", "history", "history/src", "history/b.txt", "peers",
      "versions/\(version)/.llvs",
    ] {
      for item in try space.items(path, page: 2) {
        let name = String(decoding: item.name, as: UTF8.self)
        guard name != ".", name != "..", name != "control" else { continue }
        let entry = try space.find("\(path)/\(name)")
        #expect(entry.status.inode == item.inode, "\(path)/\(name)")
        #expect(entry.status.kind == item.kind, "\(path)/\(name)")
        #expect(MetaTree.owns(item.inode))
        let what = path.hasPrefix("history/b") ? "versions/\(version)/b.txt" : "\(path)/\(name)"
        if let other = seen[item.inode] { #expect(other == what) }
        seen[item.inode] = what
      }
    }
    let first = try space.find("control")
    let second = try space.find("control")
    #expect(first.isControl && first.status.inode != second.status.inode)
    #expect(try space.find("").status.inode == space.find("").status.inode)
  }

  @Test("a listing goes on wherever the last reply was full, also back, and reads no name twice")
  func goingOn() throws {
    let space = try MetaWorkspace()
    for index in 100..<400 { try space.write("d/\(index)", "") }
    let version = try space.commit()
    let place = try space.find("versions/\(version)/d").status.inode
    var random = SeededRandom(seed: 7)
    for _ in 0..<20 {
      let directory = try space.meta.openDirectory(place)
      var names: [String] = []
      var at: UInt64 = 0
      while true {
        let items = try directory.next(after: at, limit: 64)
        if items.isEmpty { break }
        // A reply holds some of them.
        for item in items.prefix(Int.random(in: 1...64, using: &random)) {
          names.append(String(decoding: item.name, as: UTF8.self))
          at = item.next
        }
      }
      #expect(names == [".", ".."] + (100..<400).map(String.init))
      for offset in [UInt64.random(in: 2..<300, using: &random), 7, 250, 3, 2, 1] {
        let item = try #require(try directory.next(after: offset, limit: 5).first)
        #expect(String(decoding: item.name, as: UTF8.self) == names[Int(offset)])
      }
    }
  }

  @Test("versions as a file system of their own tell their texts' sizes, and when one was added")
  func asFileSystem() throws {
    let space = try MetaWorkspace()
    let history = try VersionsFileSystem(of: space.meta)
    #expect(history.meta.nodeCount == 2 && space.meta.nodeCount == 0)
    var times: [Attributes.Time] = []
    for index in 0..<5 {
      for count in 0...(index * 40) { try space.write("d/\(index)-\(count)", "x") }
      times.append(try history.entry(of: history.top).status.mtime)
      let version = try space.commit("number \(index)")
      times.append(try history.entry(of: history.top).status.mtime)
      var inode = try history.meta.lookup(history.top, Array(version.utf8)).status.inode
      inode = try history.meta.lookup(inode, ReservedName.bytes).status.inode
      for name in ["info", "changes"] {
        let entry = try history.meta.lookup(inode, Array(name.utf8))
        let text = try space.text(history.file(entry.status.inode))
        #expect(text == (try space.read("versions/\(version)/.llvs/\(name)")))
        #expect(entry.status.size == UInt64(text.utf8.count) && entry.isLasting)
      }
    }
    // It holds while nothing is added.
    #expect(times.enumerated().allSatisfy { $0 == 0 || ($1 == times[$0 - 1]) == ($0 % 2 == 0) })
    #expect(fault { _ = try history.file(history.top) } == "isDirectory")
  }

  @Test("nodes are forgotten with their look-ups, and numbers are not given twice")
  func forgetting() throws {
    let space = try MetaWorkspace()
    try space.write("src/a.txt", "one")
    let version = try space.commit()
    var inodes: [UInt64] = []
    let meta = space.meta
    var entry = try meta.metaDirectory(of: TreeSession.rootInode)
    inodes.append(entry.status.inode)
    for name in ["versions", version, "src", ".llvs", "parents"] {
      entry = try meta.lookup(entry.status.inode, Array(name.utf8))
      inodes.append(entry.status.inode)
    }
    #expect(meta.nodeCount == 6)
    // Parents first, as nothing promises otherwise.
    for inode in inodes { meta.forget(inode, count: 1) }
    #expect(meta.nodeCount == 0)
    #expect(fault { _ = try meta.getattr(inodes[3]) } == "stale")
    let again = try space.find("versions/\(version)/src").status.inode
    #expect(again != inodes[3])
    #expect(try meta.parent(of: again) == space.find("versions/\(version)").status.inode)
  }

  @Test("an open log keeps its lines in place while it is cut; from its start on it is the new one")
  func openLog() throws {
    let space = try MetaWorkspace()
    let log = space.space.service.log
    let text = String(repeating: "x", count: 1000)
    for number in 0..<4000 { log.add("test", "\(number) \(text)") }
    let file = try space.meta.open(try space.find("log").status.inode)
    defer { file.release() }
    var head = [UInt8](repeating: 0, count: 3000)
    _ = try head.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
    for number in 4000..<4400 { log.add("test", "\(number) \(text)") }
    #expect(try space.find("log").status.size < 3 << 20)
    var next = [UInt8](repeating: 0, count: 3000)
    _ = try next.withUnsafeMutableBytes { try file.read(at: 3000, into: $0) }
    let both = String(decoding: head + next, as: UTF8.self)
    #expect(both.split(separator: "\n").count == 6)
    #expect(both.contains(" test 0 ") && both.contains(" test 5 "))
    _ = try head.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
    #expect(!String(decoding: head, as: UTF8.self).contains(" test 0 "))
  }

  @Test("the fixed files tell what they should, and are not written")
  func files() throws {
    let space = try MetaWorkspace()
    try space.write("a", "one")
    let version = try space.commit()
    #expect(try space.read("README").split(separator: "\n").count < 50)
    #expect(try space.read("status").contains(version))
    #expect(try space.read("status.json").hasPrefix("{"))
    #expect(try space.read("log").contains(version))
    #expect(try space.read("ignore").contains("vim"))
    #expect(
      Int(try space.find("log").status.size) == (try space.read("log").utf8.count))
    for path in ["README", "status", "log"] {
      let inode = try space.find(path).status.inode
      #expect(fault { _ = try space.meta.open(inode, writing: true) } == "accessDenied")
    }
    let status = try space.meta.open(try space.find("status").status.inode)
    guard case .generated = status.kind else {
      Issue.record("status is \(status.kind)")
      return
    }
  }

  @Test("heads are those that no other contains, branches the newest of each line")
  func lines() throws {
    let space = try MetaWorkspace()
    try space.write("a", "one")
    let first = try space.commit()
    #expect(try space.names("heads") == [first])
    #expect(try space.link("heads/\(first)") == "../versions/\(first)")
    #expect(space.failure("heads/none") != nil)
    try space.space.run("branch work")
    try space.write("a", "two")
    let second = try space.commit()
    #expect(try space.names("branches") == ["-", "work"])
    #expect(try space.link("branches/-") == "../versions/\(first)")
    #expect(try space.link("branches/work") == "../versions/\(second)")
    #expect(try space.names("heads") == [second])
    #expect(space.failure("branches/llvs.tag").map { "\($0)" } == "noEntry")
  }

  @Test("a peer's tags are shown by names that lead to them, each on a line of its own")
  func foreignTags() throws {
    let space = try MetaWorkspace()
    try space.write("a", "1")
    let version = try space.commit()
    let names = [String(repeating: "y", count: 300), "v1\nv2  forged", "a/b"]
    let record = try #require(try space.store.version(named: version))
    for name in names {
      _ = try space.store.write { (transaction) throws(StoreError) in
        try transaction.tag(record, as: name, author: Author(name: "peer"))
      }
    }
    let shown = try space.names("tags")
    #expect(shown.count == names.count)
    for name in shown { #expect(try space.link("tags/\(name)") == "../versions/\(version)") }
    #expect(try space.space.run("tag").text.split(separator: "\n").count == names.count)
  }

  @Test("tags are links to the versions they name, and commands take them")
  func tags() throws {
    let space = try MetaWorkspace()
    #expect(try space.names("tags").isEmpty)
    try space.write("a", "one")
    let first = try space.commit()
    try space.space.run("tag v1")
    try space.write("a", "two")
    let second = try space.commit()
    try space.space.run("tag v2.0")
    #expect(try space.names("tags") == ["v1", "v2.0"])
    #expect(try space.link("tags/v1") == "../versions/\(first)")
    #expect(try space.names("branches") == ["-"])
    #expect(try space.space.run("tag").text == "v1  \(first)\nv2.0  \(second)")
    try space.space.run("tag -f v1 v2.0")
    #expect(try space.link("tags/v1") == "../versions/\(second)")
    try space.space.run("restore \(first)")
    try space.space.run("restore v1 a")
    #expect(try space.space.read("a") == "two")
    #expect(space.failure("tags/v3").map { "\($0)" } == "noEntry")
    #expect(try space.names("heads").count == 1)
  }

  @Test("a version has one name that is a directory; ids and their beginnings are links to it")
  func aliases() throws {
    let space = try MetaWorkspace()
    try space.write("a", "one")
    let version = try space.commit()
    let record = try #require(try space.store.version(named: version))
    #expect(try space.find("versions/\(version)").isLasting)
    #expect(try space.link("versions/\(record.id.rawValue)") == version)
    #expect(try space.link("versions/\(record.id.rawValue.prefix(8))") == version)
    #expect(try !space.find("versions/\(record.id.rawValue)").isLasting)
    #expect(space.failure("versions/nothing").map { "\($0)" } == "noEntry")
    #expect(space.failure("versions/%FF") != nil)
  }

  @Test("at shows what was here then, by the log of heads and before it by descent")
  func times() throws {
    let space = try MetaWorkspace()
    // Before the store's own log: versions as another replica made them.
    func add(_ id: String, after: VersionNumber?, _ timestamp: Double) throws -> VersionRecord {
      try space.store.write { (transaction) throws(StoreError) in
        try transaction.add(
          NewVersion(
            number: try transaction.reserveVersion(), id: Version.ID(id), first: after,
            timestamp: timestamp, map: .empty))
      }
    }
    let base = 599_529_600.0  // 2020-01-01
    let one = try add("ONE", after: nil, base)
    let two = try add("TWO", after: one.number, base + 86_400)
    _ = try add("STRANGER", after: nil, base + 86_500)
    let three = try add("THREE", after: two.number, base + 5 * 86_400)
    #expect(space.failure("at/now").map { "\($0)" } == "noEntry")
    try space.space.run("switch \(three.name)")
    #expect(try space.link("at/now") == "../versions/\(three.name)")
    #expect(try space.link("at/2020-01-01") == "../versions/\(one.name)")
    #expect(try space.link("at/2020-01-02") == "../versions/\(two.name)")
    #expect(try space.link("at/2020-01-04T10:22") == "../versions/\(two.name)")
    #expect(try space.link("at/@1577836800") == "../versions/\(one.name)")
    #expect(space.failure("at/2019-12-31").map { "\($0)" } == "noEntry")
    #expect(space.failure("at/sometime").map { "\($0)" } == "noEntry")
    #expect(try space.names("at") == ["2020-01-06", "2020-01-02", "2020-01-01"])
    #expect(try !space.find("at/2020-01-02").isLasting)
    try space.write("a", "here")
    let four = try space.commit()
    #expect(try space.link("at/today") == "../versions/\(four)")
    #expect(try space.names("at").count == 4)
  }
}
