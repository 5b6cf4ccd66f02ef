import LLVS
import TestSupport
import Testing

@Suite struct JSONMergeTests {
  private func merged(_ base: String, _ first: String, _ second: String) -> String? {
    JSONMerge.merged(base: Array(base.utf8), first: Array(first.utf8), second: Array(second.utf8))
      .map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("properties that one side changed are taken from it, the rest stays as it is written")
  func properties() {
    #expect(
      merged(
        "{\n  \"a\": 1,\n  \"b\" : 2\n}\n", "{\n  \"a\": 10,\n  \"b\" : 2\n}\n",
        "{\n  \"a\": 1,\n  \"b\" : 20\n}\n") == "{\n  \"a\": 10,\n  \"b\" : 20\n}\n")
    #expect(merged("{\"a\":1,\"b\":2}", "{\"a\":1}", "{\"a\":3,\"b\":2}") == "{\"a\":3}")
    #expect(merged("{\"a\":1}", "{\"a\":2}", "{\"a\":1, \"b\":2}") == "{\"a\":2, \"b\":2}")
    #expect(
      merged(
        "{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"c\": 3\n}", "{\n  \"a\": 1,\n  \"b\": 2\n}")
        == "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}")
    #expect(
      merged(
        "{\"x\":{\"a\":1,\"b\":[1,2]},\"y\":0}", "{\"x\":{\"a\":2,\"b\":[1,2]},\"y\":0}",
        "{\"y\":0,\"x\":{\"b\":[1,2,3],\"a\":1}}") == "{\"x\":{\"a\":2,\"b\":[1,2,3]},\"y\":0}")
    #expect(merged("{\"a\":1,\"b\":1}", "{\"b\":1}", "{\"a\":1}") == "{}")
    #expect(merged("{}", "{ \"a\": 1 }", "{}") == "{ \"a\": 1 }")
  }

  @Test("the same property changed differently clashes, and a change with a removal")
  func clashing() {
    #expect(merged("{\"a\":1}", "{\"a\":2}", "{\"a\":3}") == nil)
    #expect(merged("{\"a\":1,\"b\":1}", "{\"b\":1}", "{\"a\":3,\"b\":1}") == nil)
    #expect(merged("{\"a\":1,\"b\":1}", "{\"a\":3,\"b\":1}", "{\"b\":1}") == nil)
    #expect(merged("{}", "{\"a\":2}", "{\"a\":3}") == nil)
    #expect(merged("{\"a\":[1]}", "{\"a\":[1,2]}", "{\"a\":[1,3]}") == nil)
    #expect(merged("{}", "{\"a\":2}", "{\"a\":2, \"b\":1}") == "{\"a\":2, \"b\":1}")
  }

  @Test("elements with ids are merged one by one")
  func elements() {
    let base = "[\n  {\"id\": 1, \"t\": \"a\"},\n  {\"id\": 2, \"t\": \"b\"}\n]\n"
    #expect(
      merged(
        base, "[\n  {\"id\": 1, \"t\": \"A\"},\n  {\"id\": 2, \"t\": \"b\"}\n]\n",
        "[\n  {\"id\": 1, \"t\": \"a\"},\n  {\"id\": 3, \"t\": \"c\"},\n  {\"id\": 2, \"t\": \"B\"}\n]\n"
      )
        == "[\n  {\"id\": 1, \"t\": \"A\"},\n  {\"id\": 3, \"t\": \"c\"},\n  {\"id\": 2, \"t\": \"B\"}\n]\n"
    )
    #expect(
      merged(base, "[\n  {\"id\": 2, \"t\": \"b\"}\n]\n", base.replacing("\"b\"", with: "\"B\""))
        == "[\n  {\"id\": 2, \"t\": \"B\"}\n]\n")
    // Both in another order.
    #expect(
      merged(
        base, "[{\"id\": 2, \"t\": \"b\"}, {\"id\": 1, \"t\": \"a\"}]",
        base.replacing("\"b\"", with: "\"B\"")) == nil)
  }

  @Test("what is no JSON object or array is not merged")
  func others() {
    for bad in [
      "1", "{", "{\"a\":1,}", "{\"a\":01}", "{\"a\":1} x", "[1 2]", "{\"a\":1,\"a\":2}", "{'a':1}",
      "{\"a\\u0062\":1}", "[\"\u{1}\"]", "[tru]", "[1.]", "[\"\\x\"]", "// c\n{}", "",
      String(repeating: "[", count: 100_000),
    ] {
      #expect(!JSONMerge.isJSON(Array(bad.utf8)), "\(bad.prefix(20))")
    }
    for good in ["{}", "[]", " [1, -2.5e+3, \"\\u00e9\", true, false, null, {\"\": []}]\n"] {
      #expect(JSONMerge.isJSON(Array(good.utf8)), "\(good)")
    }
    #expect(!JSONMerge.isJSON([0x5B, 0x22, 0xFF, 0x22, 0x5D]))
  }

  /// An object of properties that may be absent.
  private func object(
    _ values: [Int?], _ random: inout SeededRandom, nested: Bool = true
  ) -> String {
    let breaks = Bool.random(using: &random)
    var members: [String] = []
    for (index, value) in values.enumerated() {
      guard let value else { continue }
      let text = nested && index == 0 ? "{\"in\":\(value), \"k\":[]}" : "\(value)"
      members.append("\"p\(index)\":\(Bool.random(using: &random) ? " " : "")\(text)")
    }
    if Bool.random(using: &random) { members.reverse() }
    return breaks
      ? "{\n  " + members.joined(separator: ",\n  ") + "\n}\n"
      : "{" + members.joined(separator: ", ") + "}"
  }

  @Test("properties come out as their own merges say", arguments: 1...40)
  func random(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    for _ in 0..<50 {
      let base = (0..<5).map { _ in
        Bool.random(using: &random) ? Int.random(in: 0..<3, using: &random) : nil
      }
      func side() -> [Int?] {
        base.map {
          switch Int.random(in: 0..<6, using: &random) {
          case 0: nil
          case 1: Int.random(in: 0..<3, using: &random)
          default: $0
          }
        }
      }
      let (first, second) = (side(), side())
      var expected: [Int?] = []
      var clashes = false
      for index in 0..<5 {
        let (o, a, b) = (base[index], first[index], second[index])
        if a != b, a != o, b != o { clashes = true }
        expected.append(a == o ? b : a)
      }
      let texts = (
        object(base, &random), object(first, &random), object(second, &random)
      )
      let result = merged(texts.0, texts.1, texts.2)
      guard !clashes else {
        #expect(result == nil, "seed \(seed): \(texts)")
        continue
      }
      let text = try #require(result, "seed \(seed): \(texts)")
      // The same properties, whatever their order: merging it with what is expected changes nothing.
      let plain = object(expected, &random)
      #expect(merged(plain, plain, text) == plain, "seed \(seed): \(texts) gave \(text)")
    }
  }
}
