import ObjectStores
import Testing

struct ObjectNameTests {
  @Test("names that some remote could not hold are none")
  func refused() {
    let long = String(repeating: "n", count: 256)
    for text in [
      "", "/", "/a", "a/", "a//b", ".", "..", "a/.", "../a", "a/../b", "a\n", "a\0b", "\u{7F}",
      long,
      "a/" + long, Array(repeating: "abcd", count: 206).joined(separator: "/"),
    ] { #expect(ObjectName(text) == nil, "\(text.debugDescription)") }
    for text in ["a", "a/b", ".a", "...", "a b", "é", String(repeating: "n", count: 255)] {
      #expect(ObjectName(text)?.text == text)
    }
  }

  @Test("names are told apart and ordered by their bytes")
  func bytes() throws {
    let (composed, decomposed) = (
      try #require(ObjectName("e\u{301}")), try #require(ObjectName("\u{E9}"))
    )
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
    #expect(composed < decomposed)
    #expect(ObjectPrefix("e\u{301}") != ObjectPrefix("\u{E9}"))
  }

  @Test("a name has a folder and a last part")
  func parts() throws {
    let name = try #require(ObjectName("a/b/c"))
    #expect(name.folder == "a/b")
    #expect(name.last == "c")
    #expect(ObjectName("c")?.folder == "")
    #expect(ObjectName("c")?.last == "c")
  }

  @Test("a prefix is a folder and a beginning")
  func prefixes() throws {
    let prefix = try #require(ObjectPrefix("a/b/c-"))
    #expect(prefix.folder == "a/b")
    #expect(prefix.beginning == "c-")
    #expect(prefix.name(of: "c-1")?.text == "a/b/c-1")
    #expect(prefix.name(of: "d") == nil)
    #expect(prefix.name(of: "c-/") == nil)
    #expect(ObjectPrefix("")?.name(of: "x")?.text == "x")
    for (text, isThere) in [
      ("a/b/c-1", true), ("a/b/c-", true), ("a/b/d", false), ("a/b/c-1/d", false), ("c-1", false),
      ("a/b/c/c-1", false),
    ] { #expect(prefix.holds(try #require(ObjectName(text))) == isThere, "\(text)") }
    #expect(ObjectPrefix(folder: "")?.holds(try #require(ObjectName("a/b"))) == false)
    #expect(ObjectPrefix(folder: "a")?.description == "a/")
    #expect(ObjectPrefix(folder: "")?.description == "")
    for text in ["/", "/a", "a//", "../", "a/\n"] { #expect(ObjectPrefix(text) == nil, "\(text)") }
    #expect(ObjectPrefix("a/..")?.beginning == "..")
  }
}
