import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite struct JSONMergeTests {
  /// The merge; behind `!` where something was dropped.
  private func merged(_ base: String, _ older: String, _ newer: String) -> String? {
    JSONMerge.merged(base: Array(base.utf8), older: Array(older.utf8), newer: Array(newer.utf8))
      .map { ($0.hasClash ? "!" : "") + String(decoding: $0.bytes, as: UTF8.self) }
  }

  private func marked(_ base: String, _ ours: String, _ theirs: String) -> String? {
    JSONMerge.marked(
      base: Array(base.utf8), TextMerge.Side("ours", Array(ours.utf8), age: 1),
      TextMerge.Side("theirs", Array(theirs.utf8), age: 0)
    ).map { String(decoding: $0, as: UTF8.self) }
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
        == "{\n  \"a\": 1,\n  \"c\": 3,\n  \"b\": 2\n}")
    #expect(
      merged(
        "{\"x\":{\"a\":1,\"b\":[1,2]},\"y\":0}", "{\"x\":{\"a\":2,\"b\":[1,2]},\"y\":0}",
        "{\"y\":0,\"x\":{\"b\":[1,2,3],\"a\":1}}") == "{\"x\":{\"a\":2,\"b\":[1,2,3]},\"y\":0}")
    #expect(merged("{\"a\":1,\"b\":1}", "{\"b\":1}", "{\"a\":1}") == "{}")
    #expect(merged("{}", "{ \"a\": 1 }", "{}") == "{ \"a\": 1 }")
  }

  @Test("of a property that both changed differently the newer side's is taken, all else from both")
  func clashing() {
    #expect(merged("{\"a\":1}", "{\"a\":2}", "{\"a\":3}") == "!{\"a\":3}")
    #expect(
      merged(
        "{\"a\":1,\"b\":1,\"c\":1}", "{\"a\":2,\"b\":5,\"c\":1}", "{\"a\":3,\"b\":1,\"c\":1}")
        == "!{\"a\":3,\"b\":5,\"c\":1}")
    #expect(merged("{\"a\":1,\"b\":1}", "{\"b\":1}", "{\"a\":3,\"b\":1}") == "!{\"a\":3,\"b\":1}")
    #expect(merged("{\"a\":1,\"b\":1}", "{\"a\":3,\"b\":1}", "{\"b\":1}") == "!{\"b\":1}")
    #expect(merged("{}", "{\"a\":2}", "{\"a\":3}") == "!{\"a\":3}")
    #expect(merged("{\"a\":1}", "[1]", "{\"a\":2}") == "!{\"a\":2}")
    #expect(merged("{\"a\":[1]}", "{\"a\":{}}", "{\"a\":[2]}") == "!{\"a\":[2]}")
    #expect(merged("{}", "{\"a\":2}", "{\"a\":2, \"b\":1}") == "{\"a\":2, \"b\":1}")
    // Both added an object: its properties are what they have in common.
    #expect(
      merged("{}", "{\"a\":{\"x\":1,\"y\":1}}", "{\"a\":{\"y\":2,\"z\":3}}")
        == "!{\"a\":{\"x\":1,\"y\":2,\"z\":3}}")
  }

  @Test("for a person the properties that clash stand between markers, and nothing else")
  func markers() {
    #expect(
      marked("{\"a\":1,\"b\":1,\"c\":1}", "{\"a\":3,\"b\":1,\"c\":1}", "{\"a\":2,\"b\":5,\"c\":1}")
        == "{\n<<<<<<< ours\n\"a\":3,\n=======\n\"a\":2,\n>>>>>>> theirs\n\"b\":5,\"c\":1}")
    #expect(
      marked(
        "{\n  \"a\": 1,\n  \"b\": 1\n}\n", "{\n  \"a\": 1,\n  \"b\": 2\n}\n",
        "{\n  \"a\": 1,\n  \"b\": 3\n}\n")
        == "{\n  \"a\": 1,\n<<<<<<< ours\n  \"b\": 2\n=======\n  \"b\": 3\n>>>>>>> theirs\n}\n")
    // Whichever is taken, what is left is JSON: the comma goes with what may be gone.
    #expect(
      marked("{\"a\":1,\"b\":1}", "{\"a\":1}", "{\"a\":1,\"b\":2}")
        == "{\"a\":1\n<<<<<<< ours\n=======\n,\"b\":2\n>>>>>>> theirs\n}")
    #expect(
      marked("{\"a\":1,\"b\":1}", "{\"a\":2,\"b\":1}", "{\"a\":1,\"b\":2}") == "{\"a\":2,\"b\":2}")
    #expect(marked("{}", "[]", "x") == nil)
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
        "[{\"id\":1},{\"id\":2},{\"id\":3}]", "[{\"id\":2},{\"id\":1},{\"id\":3}]",
        "[{\"id\":3},{\"id\":2},{\"id\":1}]") == "![{\"id\":3},{\"id\":2},{\"id\":1}]")
    // One in another order, and one changed there.
    #expect(
      merged(
        base, "[{\"id\": 2, \"t\": \"b\"}, {\"id\": 1, \"t\": \"a\"}]",
        base.replacing("\"b\"", with: "\"B\""))
        == "[{\"id\": 2, \"t\": \"B\"}, {\"id\": 1, \"t\": \"a\"}]")
    #expect(
      merged(
        "[{\"id\":1},{\"id\":2}]", "[{\"id\":1},{\"id\":5},{\"id\":2}]",
        "[{\"id\":2},{\"id\":1},{\"id\":6}]") == "[{\"id\":2},{\"id\":1},{\"id\":5},{\"id\":6}]")
  }

  @Test("elements without ids are merged by their places, as lines of a text are")
  func sequences() {
    #expect(merged("[1,2,3]", "[0,1,2,3]", "[1,2,3,4]") == "[0,1,2,3,4]")
    #expect(merged("[1, 2, 3]", "[1, 3]", "[1, 2, 3, 4]") == "[1, 3, 4]")
    #expect(merged("[1,2,3]", "[1,2,3]", "[3]") == "[3]")
    #expect(
      merged("{\"a\":[1]}", "{\"a\":[1,2], \"b\":0}", "{\"a\":[1]}") == "{\"a\":[1,2], \"b\":0}")
    // Both did the same.
    #expect(merged("[1]", "[1,2]", "[1, 2]") == "[1,2]")
    #expect(merged("[1,2,3,4,5]", "[0,2,3,4,5]", "[0, 2, 3, 4, 6]") == "[0,2,3,4,6]")
    // Of what both added at one place the older side's is first, equal ones once.
    #expect(merged("[1]", "[1,2]", "[1,3]") == "[1,2,3]")
    #expect(merged("[1]", "[2,1]", "[3,1]") == "[2,3,1]")
    #expect(merged("[1]", "[1,2,4]", "[1,4,3]") == "[1,2,4,3]")
    #expect(merged("{\"a\":[]}", "{\"a\":[\"x\"]}", "{\"a\":[\"y\"]}") == "{\"a\":[\"x\",\"y\"]}")
    // An element that both changed is merged in itself.
    #expect(
      merged("[{\"x\":1,\"y\":1}]", "[{\"x\":2,\"y\":1}]", "[{\"x\":1,\"y\":2}]")
        == "[{\"x\":2,\"y\":2}]")
    #expect(merged("[1,2]", "[1]", "[1,3]") == "![1,3]")
    #expect(merged("[1,2,3]", "[1,[5],3]", "[1,6,7,3]") == "![1,6,7,3]")
    // Members of an element may stand in another order, and it stays as it is written.
    #expect(
      merged(
        "[{\"x\":1,\"y\":[]},1,5]", "[{\"y\": [], \"x\": 1},2,5]", "[{\"x\":1,\"y\":[]},1,5,true]")
        == "[{\"y\": [], \"x\": 1},2,5,true]")
    #expect(
      merged(
        "[\n  \"a\",\n  \"b\"\n]\n", "[\n  \"a\",\n  \"x\",\n  \"b\"\n]\n",
        "[\n  \"a\",\n  \"b\",\n  \"c\"\n]\n")
        == "[\n  \"a\",\n  \"x\",\n  \"b\",\n  \"c\"\n]\n")
    // Not every element has an id, or two have the same.
    #expect(
      merged(
        "[{\"id\":1},{\"id\":1}]", "[{\"id\":1},{\"id\":1},{\"id\":2}]", "[0,{\"id\":1},{\"id\":1}]"
      )
        == "[0,{\"id\":1},{\"id\":1},{\"id\":2}]")
  }

  @Test("keys are what they say, however they are written, and stay written as they are")
  func escapes() {
    #expect(
      merged("{\"é\":1,\"b\":1}", "{\"\\u00e9\":1,\"b\":2}", "{\"é\":3,\"b\":1}")
        == "{\"\\u00e9\":3,\"b\":2}")
    #expect(
      merged(
        "{\"\\ud83d\\ude00\":1,\"b\":1}", "{\"😀\":2,\"b\":1}", "{\"\\uD83D\\uDE00\":1,\"b\":2}")
        == "{\"😀\":2,\"b\":2}")
    #expect(
      merged("{\"a\\/b\":1,\"\\n\":1}", "{\"a/b\":1,\"\\n\":2}", "{\"a\\/b\":3,\"\\u000a\":1}")
        == "{\"a/b\":3,\"\\n\":2}")
    // Half a pair is no character, and not another half.
    #expect(JSONMerge.isJSON(Array("{\"\\ud83d\":1,\"\\ude00\":2,\"\\ud83dx\":3}".utf8)))
    // A key that looks like two members is one.
    #expect(
      merged("[{\"a\\\":1,\\\"b\":2}]", "[{\"a\":1,\"b\":2}]", "[{\"a\\\":1,\\\"b\":2},3]")
        == "[{\"a\":1,\"b\":2},3]")
  }

  @Test("numbers stay as they are written")
  func numbers() {
    let long = "12345678901234567890123.4500e+10"
    #expect(
      merged("{\"a\":1.0,\"b\":1}", "{\"a\":\(long),\"b\":1}", "{\"a\":1.0,\"b\":1e0}")
        == "{\"a\":\(long),\"b\":1e0}")
  }

  @Test("depth and length are bounded, and long arrays are merged in time", .timeLimit(.minutes(1)))
  func bounds() {
    func nested(_ depth: Int, _ inner: String) -> String {
      String(repeating: "{\"a\":", count: depth) + inner + String(repeating: "}", count: depth)
    }
    #expect(
      merged(
        nested(63, "{\"x\":1,\"y\":1}"), nested(63, "{\"x\":2,\"y\":1}"),
        nested(63, "{\"x\":1,\"y\":2}"))
        == nested(63, "{\"x\":2,\"y\":2}"))
    #expect(!JSONMerge.isJSON(Array(nested(65, "1").utf8)))
    #expect(!JSONMerge.isJSON(Array("[\(String(repeating: " ", count: 4 << 20))]".utf8)))
    // Elements with ids, many of them new on one side, and many without.
    let ids = (0..<20_000).map { "{\"id\":\($0)}" }
    let new = (20_000..<40_000).map { "{\"id\":\($0)}" }
    let base = "[\(ids.joined(separator: ","))]"
    let first = "[\((ids.dropFirst()).joined(separator: ","))]"
    let second = "[\((ids + new).joined(separator: ","))]"
    #expect(merged(base, first, second) == "[\((ids.dropFirst() + new).joined(separator: ","))]")
    let plain = { (texts: [String]) in
      "[\(texts.joined(separator: ",").replacing("\"id\"", with: "\"n\""))]"
    }
    #expect(
      merged(plain(ids), plain(Array(ids.dropFirst())), plain(ids + new))
        == plain(Array(ids.dropFirst()) + new))
  }

  @Test("what is no JSON object or array is not merged")
  func others() {
    for bad in [
      "1", "{", "{\"a\":1,}", "{\"a\":01}", "{\"a\":1} x", "[1 2]", "{\"a\":1,\"a\":2}", "{'a':1}",
      "[\"\u{1}\"]", "[tru]", "[1.]", "[\"\\x\"]", "// c\n{}", "",
      String(repeating: "[", count: 100_000),
      "{\"a\":1,\"\\u0061\":2}",
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
        expected.append(b == o ? a : b)
      }
      let texts = (
        object(base, &random), object(first, &random), object(second, &random)
      )
      let result = try #require(merged(texts.0, texts.1, texts.2), "seed \(seed): \(texts)")
      #expect((result.first == "!") == clashes, "seed \(seed): \(texts)")
      let text = clashes ? String(result.dropFirst()) : result
      // The same properties, whatever their order: of two that say the same the older one stays.
      let plain = object(expected, &random)
      func dense(_ text: String?) -> String? { text.map { $0.filter { !$0.isWhitespace } } }
      #expect(
        dense(merged("{}", plain, text)) == dense(plain), "seed \(seed): \(texts) gave \(text)")
    }
  }
}
