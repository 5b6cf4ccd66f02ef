import LLVSCore
import Testing

@testable import StoreSupport

@Suite("Markers around what clashes", .timeLimit(.minutes(1)))
struct MarkerTests {
  private func marked(_ base: String, _ sides: String...) -> String? {
    let labels = ["ours", "theirs", "theirs.2"]
    let all = zip(labels, sides).map { TextMerge.Side($0, Array($1.utf8)) }
    return TextMerge.marked(base: Array(base.utf8), all).map { String(decoding: $0, as: UTF8.self) }
  }

  private func holds(_ text: String, besides others: String...) -> Bool {
    TextMerge.holdsMarkers(Array(text.utf8), besides: others.map { Array($0.utf8) })
  }

  @Test("What fits is merged, what clashes stands between markers")
  func clash() {
    #expect(
      marked("1\n2\n3\n4\n5\n", "one\n2\n3\nours\n5\n", "1\n2\n3\ntheirs\n5\n")
        == "one\n2\n3\n<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n5\n")
    #expect(marked("1\n2\n3\n", "1\n2\nthree\n", "one\n2\n3\n") == "one\n2\nthree\n")
  }

  @Test("Markers stand on lines of their own, ended as the text's lines are")
  func lines() {
    #expect(
      marked("a", "b", "c") == "<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n")
    #expect(
      marked("a\r\n", "b\r\n", "c\r\n")
        == "<<<<<<< ours\r\nb\r\n=======\r\nc\r\n>>>>>>> theirs\r\n")
    #expect(marked("", "b\n", "") == "b\n")
    #expect(marked("a\n", "b\n", "c\u{0}") == nil)
  }

  @Test("A third side is merged into what the first two came to")
  func three() throws {
    let text = try #require(marked("1\n2\n3\n4\n", "a\n2\n3\n4\n", "b\n2\n3\n4\n", "1\n2\n3\nd\n"))
    #expect(text == "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n2\n3\nd\n")
    let nested = try #require(marked("1\n", "a\n", "b\n", "c\n"))
    #expect(["a\n", "b\n", "c\n", "theirs.2\n"].allSatisfy { nested.contains($0) })
  }

  @Test("Markers that a side has itself are none")
  func own() {
    #expect(holds("x\n<<<<<<< ours\n", besides: "x\n", "y\n"))
    #expect(holds("Title\n=======\n", besides: "Title\n"))
    #expect(!holds("Title\n=======\n", besides: "Title\n", "Other\r\n=======\r\n"))
    #expect(holds("=======\n>>>>>>> theirs\n", besides: "======="))
    #expect(!holds("<<<<<<<\n ======= \n========\n", besides: ""))
  }

  @Test("without a known base, each difference is between markers")
  func unknownBase() throws {
    let sides = [("ours", "a\nb\nc\n"), ("theirs", "a\nx\nc\nd\n")].map {
      TextMerge.Side($0, Array($1.utf8))
    }
    let text = try #require(TextMerge.marked(base: nil, sides))
    #expect(
      String(decoding: text, as: UTF8.self) == """
        a
        <<<<<<< ours
        b
        =======
        x
        >>>>>>> theirs
        c
        <<<<<<< ours
        =======
        d
        >>>>>>> theirs

        """)
  }
}
