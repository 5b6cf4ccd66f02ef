import LLVSCore
import TestSupport
import Testing

@testable import Documents

@Suite("Names of values and paths of files", .timeLimit(.minutes(1)))
struct DocumentNameTests {
  @Test("every pair of scope and key has a path of its own, which says which pair it is")
  func bijection() {
    var random = SeededRandom(seed: 29)
    let parts = ["a", "/", "%", "%kv%", "%2F", "%25", "é", ".", "2F", ""]
    var seen: [[UInt8]: DocumentName] = [:]
    for _ in 0..<40_000 {
      func text() -> [UInt8] {
        Array(
          (0..<Int.random(in: 0...4, using: &random)).map { _ in
            parts.randomElement(using: &random) ?? ""
          }.joined().utf8)
      }
      let name = DocumentName(scope: text(), key: text())
      let path = name.path
      #expect(DocumentName(path: path) == name)
      if let other = seen[path] { #expect(other == name) }
      seen[path] = name
    }
    #expect(seen.count > 10_000)
  }

  @Test("a path that no pair has is none", arguments: ["%kv%a", "%kv%a%2G/b", "%kv%a/b", "/a"])
  func strangers(path: String) {
    #expect(DocumentName(path: Array(path.utf8)) == nil)
  }

  @Test("the key of a file says whose value it is, below its directory alone")
  func directories() {
    let directory = DocumentDirectory(path: Array("notes".utf8))
    let name = DocumentName(scope: Array("a".utf8), key: Array("b/c".utf8))
    #expect(directory.key(of: name).rawValue == "notes/a/b/c")
    #expect(directory.name(of: Key("notes/a/b/c")) == name)
    #expect(directory.name(of: Key("notesa/b")) == nil)
    #expect(directory.overlaps(DocumentDirectory(path: Array("notes/a".utf8))))
    #expect(!directory.overlaps(DocumentDirectory(path: Array("notes2".utf8))))
  }
}

@Suite("Types of values", .timeLimit(.minutes(1)))
struct DocumentTypeTests {
  @Test("a value of any type and media type comes back from its file as it was")
  func bothWays() {
    var random = SeededRandom(seed: 30)
    let media = ["text/plain", "application/json", "image/png", "", "text/html"]
    let samples = ["", "text", "{}", "{\"a\":", "a\0b", "é"].map { Array($0.utf8) } + [[255, 0]]
    for _ in 0..<2_000 {
      let bytes = samples.randomElement(using: &random) ?? []
      let isText = String(validating: bytes, as: UTF8.self) != nil
      let type = [DocumentType.text, .json, .blob].randomElement(using: &random) ?? .text
      if !isText, type != .blob { continue }
      if type == .json, bytes != Array("{}".utf8) { continue }
      let kind = Array((media.randomElement(using: &random) ?? "").utf8)
      let attributes = type.attributes(on: Attributes(), media: kind, bytes: bytes)
      #expect(DocumentType.type(of: bytes, attributes) == type)
      if type == .blob { #expect(attributes.value(of: DocumentType.mediaAttribute) == kind) }
    }
  }

  @Test("JSON under edit is a text, and JSON again when it parses")
  func edited() {
    let json = DocumentType.json.attributes(on: Attributes(), media: nil, bytes: Array("{}".utf8))
    #expect(DocumentType.type(of: Array("{\"a\":".utf8), json) == .text)
    #expect(DocumentType.type(of: Array("{\"a\":1}".utf8), json) == .json)
  }
}
