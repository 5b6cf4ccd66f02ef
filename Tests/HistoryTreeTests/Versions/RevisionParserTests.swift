import LLVSCore
import TestSupport
import Testing

@testable import Control
@testable import Grammar
@testable import HistoryTree
@testable import TreeNames
@testable import TreeSupport

@Suite("Words for versions", .timeLimit(.minutes(1)))
struct RevisionParserTests {
  @Test("a version's name and id are its own, whatever branches and tags a peer has given")
  func ownNames() throws {
    let space = try ControlWorkspace()
    for text in ["1", "2"] {
      try space.write("a", text)
      try space.run("commit")
    }
    let first = try space.service.version("head~")
    let second = try space.service.version("head")
    for name in [first.name, first.id.rawValue] {
      #expect(try space.failure("branch \(name)") == .exists)
      #expect(try space.failure("switch head as \(name)") == .exists)
      #expect(try space.failure("tag \(name)") == .exists)
      // As a peer's versions may have it.
      let line = try space.store.write { (transaction) throws(StoreError) in
        let map = space.store.map(of: second)
        return try transaction.add(
          AuthoredVersion(
            number: try transaction.reserveVersion(), first: second.number, base: map, map: map,
            line: Branch(rawValue: name)))
      }
      for word in [name, "versions/\(name)", "\(name)^0"] {
        #expect(try space.service.version(word).name == first.name, "\(word)")
      }
      #expect(try space.service.version("branches/\(name)").name == line.name)
      #expect(try space.service.version("branches/\(name)~").name == second.name)
      try space.run("restore \(name)")
      #expect(try space.read("a") == "1")
      try space.run("undo")
      try space.run("switch branches/\(name)")
      #expect(try space.service.status().text.contains(" on \(name)"))
      try space.run("switch -")
    }
    try space.run("tag \(first.id.rawValue.prefix(8)) head")
    #expect(try space.service.version(String(first.id.rawValue.prefix(9))).name == first.name)
    #expect(try space.service.version("versions/\(first.name.dropLast(2))").name == first.name)
  }

  @Test("what peers have named does nothing to a terminal")
  func harmless() throws {
    #expect(
      PrintableText.harmless("plain\nand \u{E9}\u{1F600}\\n") == "plain\nand \u{E9}\u{1F600}\\n")
    #expect(
      PrintableText.harmless("\u{1B}[31mred\r\t\u{7F}\u{9B}")
        == "\\033[31mred\\015\\011\\177\\302\\233")
    let space = try ControlWorkspace()
    try space.write("a", "1")
    try space.run("commit")
    let head = try space.service.version("head")
    let name = "x\ny\u{1B}[31m"
    _ = try space.store.write { (transaction) throws(StoreError) in
      let map = space.store.map(of: head)
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: head.number, base: map, map: map,
          line: Branch(rawValue: name)))
    }
    let line = try #require(try space.store.newestHead(ofLine: name))
    let said = try space.run("switch \(line.name)").text
    #expect(said.hasSuffix("on x\\012y\\033[31m"), "\(said)")
    #expect(try space.service.status().text.contains(" on x\\012y\\033[31m  ("))
  }
}
