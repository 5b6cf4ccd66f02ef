import LLVSCore
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct RenameTests {
  private func renames(_ old: [Entry], _ new: [Entry]) throws -> [String] {
    let nodes = MemoryNodes()
    let (a, b) = (try Samples.map(old, nodes), try Samples.map(new, nodes))
    let found = try ValueMap.renames(from: a, to: b)
    var diff = try MapDiff(from: a, to: b)
    var changes: [MapChange] = []
    while let change = try diff.next() { changes.append(change) }
    #expect(Rename.all(in: changes.shuffled()) == found)
    return found.map { "\($0.old.key.rawValue) \($0.new.key.rawValue)" }
  }

  private func value(_ key: String, _ text: String) -> Entry {
    Samples.value(key, Array(text.utf8))
  }

  @Test("the same bytes that left one key and came to one key were renamed")
  func certain() throws {
    #expect(try renames([value("a", "x")], [value("b", "x")]) == ["a b"])
    #expect(
      try renames(
        [value("d/1", "x"), value("d/2", "y"), value("keep", "x")],
        [value("e/1", "x"), value("e/2", "y"), value("keep", "x")]) == ["d/1 e/1", "d/2 e/2"])
    var executable = value("b", "x")
    executable.attributes.mode = 0o755
    #expect(try renames([value("a", "x")], [executable]) == ["a b"])
    #expect(
      try renames([value("a", "x"), value("b", "y")], [value("c", "y"), value("d", "x")])
        == ["a d", "b c"])
  }

  @Test("nothing is guessed: other bytes, other kinds, several candidates, no bytes")
  func uncertain() throws {
    #expect(try renames([value("a", "x")], [value("b", "X")]) == [])
    #expect(try renames([value("a", "x")], [value("a", "x"), value("b", "x")]) == [])
    #expect(try renames([value("a", "x")], [value("b", "x"), value("c", "x")]) == [])
    #expect(try renames([value("a", "x"), value("b", "x")], [value("c", "x")]) == [])
    #expect(try renames([value("a", "")], [value("b", "")]) == [])
    #expect(try renames([value("a", "x"), value("b", "y")], [value("b", "x")]) == [])
    var link = value("b", "x")
    link.kind = .symlink
    #expect(try renames([value("a", "x")], [link]) == [])
    #expect(try renames([Samples.directory("a")], [Samples.directory("b")]) == [])
  }
}
