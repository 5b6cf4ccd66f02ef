import Foundation
import LLVS
import Testing

/// The JSON shapes of the original's types.
@Suite("Values and versions as JSON", .timeLimit(.minutes(1)))
struct CodingTests {
  private func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private func decoded<T: Decodable>(_ text: String) throws -> T {
    try JSONDecoder().decode(T.self, from: Data(text.utf8))
  }

  @Test("a version is what the original writes, and metadata is a list of keys and values")
  func version() throws {
    let version = Version(
      id: Version.ID("V"), predecessors: .init(idOfFirst: Version.ID("P"), idOfSecond: nil),
      timestamp: 816_865_750.5, valueDataSize: 477,
      metadata: [.branch: .init("foo"), .init("build"): .init(42)])
    let text = """
      {"identifier":"V","metadata":["__llvs_branch",{"data":"ImZvbyI="},"build",{"data":"NDI="}],\
      "predecessors":{"idOfFirst":"P"},"timestamp":816865750.5,"valueDataSize":477}
      """
    #expect(try json(version) == text)
    #expect(try decoded(text) as Version == version)
    // Metadata may be missing, and other keys are ignored.
    let bare: Version = try decoded(#"{"identifier":"V","timestamp":1,"x":[]}"#)
    #expect(bare.metadata.isEmpty && bare.predecessors == nil && bare.valueDataSize == nil)
  }

  @Test("a change is an object with the name of its case")
  func changes() throws {
    let value = Value(id: Value.ID("k"), data: Data([1, 2, 3]))
    let reference = Value.Reference(valueId: value.id, storedVersionId: Version.ID("V"))
    let changes: [Value.Change] = [
      .insert(value), .update(value), .remove(value.id), .preserve(reference),
      .preserveRemoval(value.id),
    ]
    let text = """
      [{"insert":{"data":"AQID","id":"k"}},{"update":{"data":"AQID","id":"k"}},{"remove":"k"},\
      {"preserve":{"storedVersionId":"V","valueId":"k"}},{"preserveRemoval":"k"}]
      """
    #expect(try json(changes) == text)
    #expect(try decoded(text) as [Value.Change] == changes)
    #expect(throws: DecodingError.self) { try decoded(#"{"other":"k"}"#) as Value.Change }
    #expect(changes.valueIds == Array(repeating: value.id, count: 5))
  }

  @Test("ids are their text, raw values too, and are compared byte by byte")
  func ids() throws {
    #expect(try json([Value.ID("a"), Value.ID(rawValue: "b")]) == #"["a","b"]"#)
    #expect(try decoded(#"["a"]"#) as [Version.ID] == [Version.ID("a")])
    #expect(Value.ID("\u{E9}") != Value.ID("e\u{301}"))
    #expect(Set([Version.ID(), Version.ID()]).count == 2)
    let identifier: Value.Identifier = Value.ID("x")
    #expect(identifier.rawValue == "x" && Branch(rawValue: "b") == Branch(rawValue: "b"))
    #expect([Version(id: Version.ID("V"))].idStrings == ["V"])
  }

  private struct Build: Codable, Equatable {
    var number: Int
  }

  @Test("metadata is read as the type that is asked for, or not at all")
  func metadata() {
    let value = Version.MetadataValue(Build(number: 7))
    #expect(value.value() == Build(number: 7))
    #expect(value.valueIfDecodable() as String? == nil)
    #expect(Version.MetadataValue(data: Data([0xFF])).value() as Int? == nil)
  }
}
