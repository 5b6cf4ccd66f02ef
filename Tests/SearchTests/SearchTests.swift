import LLVSCore
import Platform
import Search
import TestSupport
import Testing

@Suite("Searching", .timeLimit(.minutes(2)))
struct SearchTests {
  private let place: SearchedStore

  init() throws { place = try SearchedStore() }

  @Test("words are found whatever their case, accents and endings, and lines are told")
  func words() throws {
    try place.write([
      "a.txt": "one\nThe runners Café\nthree", "b/c.txt": "running alone", "d.bin": "runs\0",
      "e.txt": "nothing",
    ])
    #expect(try place.found("run") == ["b/c.txt"])
    #expect(try place.found("CAFE") == ["a.txt"])
    #expect(try place.found("runner cafe") == ["a.txt"])
    #expect(try place.found("alone -running").isEmpty)
    #expect(try place.found("cafe OR alone") == ["a.txt", "b/c.txt"])
    #expect(try place.found("\"running alone\"") == ["b/c.txt"])
    #expect(try place.found("\"alone running\"").isEmpty)
    #expect(try place.found("noth*") == ["e.txt"])
    #expect(try place.found("name:c") == ["b/c.txt"])
    #expect(try place.found("alone name:c") == ["b/c.txt"])
    #expect(try place.found("alone name:a").isEmpty)
    #expect(try place.found("alone -name:c").isEmpty)
    #expect(try place.found("runner -name:b") == ["a.txt"])
    #expect(try place.found("alone") { $0.directory = Array("b".utf8) } == ["b/c.txt"])
    #expect(try place.found("alone") { $0.directory = Array("x".utf8) }.isEmpty)
    let hit = try place.search("cafe").hits[0]
    #expect(hit.lines.map(\.number) == [2] && hit.lines.map(\.text) == ["The runners Café"])
    #expect(try place.search("run").hits[0].lines.map(\.number) == [1])
  }

  @Test("a word of the text or one of the name is enough where OR stands between them")
  func mixed() throws {
    try place.write([
      "list": "milk", "soup": "Rice and milk", "list rice": "nothing", "other": "bread",
    ])
    #expect(try place.found("rice OR name:list") == ["list", "list rice", "soup"])
    #expect(try place.found("name:list OR rice milk") == ["list", "soup"])
    #expect(try place.found("rice OR name:list -milk") == ["list rice"])
    #expect(try place.found("bread OR name:soup OR name:list milk OR name:other").count == 3)
    #expect(try place.search("rice OR name:list") { $0.limit = 1 }.count == 3)
    #expect(try place.found("rice OR name:list") { $0.isExact = true } == ["list", "list rice"])
    #expect(try place.search("rice OR name:list").hits.count == 3)
    #expect(SearchQuery(String(repeating: "a OR name:b ", count: 5)) == nil)
  }

  @Test("the lines with most of the words are shown, and none that only begins like a word")
  func lines() throws {
    try place.write(["a": "control\ncontract\nword\ncontract word\ncontracting"])
    #expect(try place.search("contract word").hits[0].lines.map(\.number) == [2, 3, 4])
    #expect(try place.search("contract").hits[0].lines.map(\.number) == [2, 4, 5])
    #expect(try place.search("control").hits[0].lines.map(\.number) == [1])
  }

  @Test("a long line is shown around the word")
  func longLine() throws {
    let blank = String(repeating: "x ", count: 5000)
    try place.write(["a": blank + "needle " + blank])
    let text = try place.search("needle").hits[0].lines[0].text
    #expect(text.contains("needle") && text.hasPrefix("...") && text.hasSuffix("..."))
    #expect(text.utf8.count < 1000)
  }

  @Test("the very bytes are asked for, and what only resembles them is left out")
  func exact() throws {
    try place.write(["a": "sqlite3_open(x)", "b": "sqlite3 open", "c": "SQLITE3_OPEN"])
    #expect(try place.found("sqlite3_open") == ["a", "b", "c"])
    #expect(try place.found("sqlite3_open") { $0.isExact = true } == ["a"])
    #expect(try place.found("sqlite3_open sqlite3") { $0.isExact = true } == ["a"])
  }

  @Test("scripts without blanks are found by any row of their characters")
  func unspaced() throws {
    try place.write(["a": "今日は良い天気です", "b": "天の気", "c": "한국어 문서", "d": "ภาษาไทย"])
    #expect(try place.found("天気") == ["a"])
    #expect(try place.found("良い 天気") == ["a"])
    #expect(try place.found("국어") == ["c"])
    #expect(try place.found("ไทย") == ["d"])
    #expect(try place.search("天気").hits[0].lines.map(\.text) == ["今日は良い天気です"])
    #expect(try place.search("국어").hits[0].lines.map(\.number) == [1])
  }

  @Test("a file in UTF-16 with a mark is text")
  func wide() throws {
    let text = [0xFEFF] + Array("märchen über\nzwei".utf16)
    try place.write(bytes: ["a": text.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }])
    #expect(try place.found("marchen") == ["a"])
    #expect(try place.search("zwei").hits[0].lines.map(\.number) == [2])
  }

  @Test("only the beginning of a long file is searched, and the answer says so")
  func cut() throws {
    let long = "begin " + String(repeating: "é ", count: 1000) + "end"
    try place.write(["a": long, "b": "begin"])
    let index = try SearchIndex(of: place.store, textLimit: 1000)
    let result = try index.search(.init(try #require(SearchQuery("begin"))))
    #expect(result.count == 2 && result.cut == 1)
    #expect(try index.search(.init(try #require(SearchQuery("end")))).count == 0)
  }

  @Test("what is changed, renamed and removed is followed, and history keeps what was")
  func changes() throws {
    try place.write(["a": "old words", "b": "other"])
    #expect(try place.found("old") == ["a"])
    try place.write(["a": "new words", "c": "old words"])
    #expect(try place.found("old") == ["c"])
    try place.write(["c": nil])
    #expect(try place.found("old").isEmpty)
    let result = try place.search("old") { $0.includesHistory = true }
    #expect(result.hits.map { String(decoding: $0.path, as: UTF8.self) }.sorted() == ["a", "c"])
    #expect(result.hits.allSatisfy { $0.version != nil && $0.lines.map(\.number) == [1] })
    #expect(try place.found("words") == ["a"])
  }

  @Test("the limit bounds what is listed, and the count says how many there are")
  func limit() throws {
    try place.write(Dictionary(uniqueKeysWithValues: (0..<70).map { ("f\($0)", "common word") }))
    let result = try place.search("common") { $0.limit = 10 }
    #expect(result.hits.count == 10 && result.count == 70)
    let all = try place.search("common") { $0.limit = 100 }
    #expect(all.hits.count == 70 && all.count == 70)
  }

  @Test("a word in the name counts more than one in the text, and the newest of equals is first")
  func order() throws {
    try place.write(["x/plan.txt": "nothing", "notes": "plan"])
    #expect(try place.search("plan").hits.map(\.path).first == Array("x/plan.txt".utf8))
    var pending = SearchPending()
    for (path, time) in [("old", 100), ("new", 300), ("middle", 200)] {
      pending.add(Array(path.utf8), length: 5, time: Int64(time)) { Array("timed".utf8) }
    }
    for order in [SearchIndex.Order.rank, .time, .path] {
      let result = try place.search("timed") {
        $0.pending = pending
        $0.order = order
      }
      #expect(
        result.hits.map { String(decoding: $0.path, as: UTF8.self) }
          == (order == .path ? ["middle", "new", "old"] : ["new", "middle", "old"]))
    }
  }

  @Test("pending files are found, and hide what the head has there")
  func pending() throws {
    try place.write(["a": "ant", "d/b": "bee", "d/c": "bee", "e": "bee"])
    var pending = SearchPending()
    func add(_ path: String, _ text: String) {
      pending.add(Array(path.utf8), length: UInt64(text.utf8.count), time: 5) { Array(text.utf8) }
    }
    add("a", "bee pending")
    add("new", "bee")
    pending.hide(Array("d".utf8))
    #expect(try place.found("bee") { $0.pending = pending } == ["a", "e", "new"])
    #expect(try place.found("ant") { $0.pending = pending }.isEmpty)
    #expect(try place.found("name:new") { $0.pending = pending } == ["new"])
    #expect(try place.found("bee") == ["d/b", "d/c", "e"])
    let result = try place.search("pending") { $0.pending = pending }
    #expect(result.hits[0].lines.map(\.number) == [1])
  }

  @Test("pending files are held up to a size, and the rest is named")
  func manyPending() throws {
    var pending = SearchPending()
    let size = SearchPending.limit / 2 + 1
    for name in ["a", "b"] {
      pending.add(Array(name.utf8), length: UInt64(size), time: 0) {
        [UInt8](repeating: 0x61, count: size)
      }
    }
    #expect(pending.left == [Array("b".utf8)])
  }

  @Test("a query without a word is none", arguments: ["", "-", "???", "-not", "\"\"", "\u{301}"])
  func empty(words: String) { #expect(SearchQuery(words) == nil) }

  @Test(
    "no words break the query",
    arguments: [
      "a\"b", "(a", "a*b", "a NEAR b", "a:b", "^a", "a\0b", "-a b", "OR a", "a OR", "AND", "{a}",
      "name:",
      "a AND", "NOT a", "\"a", "a + b", "名 OR x",
    ])
  func strange(words: String) throws {
    try place.write(["a": "a b"])
    guard let query = SearchQuery(words) else { return }
    _ = try SearchIndex(of: place.store).search(.init(query))
    var exact = SearchIndex.Request(query)
    exact.isExact = true
    _ = try SearchIndex(of: place.store).search(exact)
  }
}
