import LLVS
import TestSupport
import Testing

@Suite struct TextMergeTests {
  private func merged(_ base: String, _ first: String, _ second: String) -> String? {
    TextMerge.merged(base: Array(base.utf8), first: Array(first.utf8), second: Array(second.utf8))
      .map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("lines that one side changed are taken from it")
  func apart() {
    #expect(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n") == "A\nb\nC\n")
    #expect(merged("a\nb\nc\n", "x\na\nb\nc\n", "a\nb\nc\ny\n") == "x\na\nb\nc\ny\n")
    #expect(merged("a\nb\nc\n", "b\nc\n", "a\nb\n") == "b\n")
    #expect(merged("a\nb\nc\n", "a\nb\nc\n", "") == "")
    #expect(merged("", "a\n", "") == "a\n")
  }

  @Test("the same change on both sides is made once")
  func alike() {
    #expect(merged("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n") == "a\nX\nc\n")
    #expect(merged("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", "A\nb\nc\nd\ne\n") == "A\nb\nc\nd\nE\n")
    #expect(merged("a\nb\n", "", "") == "")
  }

  @Test("the same lines, or lines beside each other, clash")
  func clashing() {
    #expect(merged("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n") == nil)
    #expect(merged("a\nb\n", "A\nb\n", "a\nB\n") == nil)
    #expect(merged("", "a\n", "b\n") == nil)
    #expect(merged("a\nb\nc\n", "", "a\nb\nC\n") == nil)
    let pieces = TextMerge.pieces(
      base: Array("a\nb\nc\n".utf8), first: Array("a\nX\nc\n".utf8),
      second: Array("a\nY\nc\nd\n".utf8))
    #expect(
      pieces == [
        .agreed(Array("a\n".utf8)),
        .clash(base: Array("b\n".utf8), first: Array("X\n".utf8), second: Array("Y\n".utf8)),
        .agreed(Array("c\n".utf8)), .agreed(Array("d\n".utf8)),
      ])
  }

  @Test("line ends and a missing last newline are kept as each side has them")
  func lineEnds() {
    #expect(merged("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n") == "A\r\nb\r\nC\r\n")
    #expect(merged("a\nb\nc", "A\nb\nc", "a\nb\nC") == "A\nb\nC")
    #expect(merged("a\nb\nc", "A\nb\nc", "a\nb\nc\n") == "A\nb\nc\n")
    #expect(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc") == "A\nb\nc")
    #expect(merged("a\nb\nc", "A\nb\nc", "a\nb\nc\nd") == "A\nb\nc\nd")
    // Every line's end against one line's text.
    #expect(merged("a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nX\nc\n") == nil)
  }

  @Test("what is no text is not merged, and what differs in everything clashes with any change")
  func bounds() {
    #expect(merged("a\0\nb\nc\n", "a\0\nb\nC\n", "a\0\nb\nc\n") == nil)
    let numbers = (0..<5000).map { "\($0)\n" }.joined()
    let others = (0..<5000).map { "x\($0)\nm\n" }.joined()
    let mixed = (0..<5000).map { "y\($0)\nm\nz\n" }.joined()
    #expect(merged(numbers, others, numbers + "end\n") == nil)
    #expect(merged(others, mixed, others + "end\n") == nil)
  }

  @Test("edits of lines apart from each other all arrive", arguments: 1...40)
  func random(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let count = Int.random(in: 1...80, using: &random)
    var (base, first, second, expected) = ("", "", "", "")
    for index in 0..<count {
      // Lines that are met again and again, and one between any two edits that is not.
      let line = "\(Int.random(in: 0..<5, using: &random))\n"
      let mark = "mark \(index)\n"
      var (a, b) = (line, line)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: a = "first \(index)\n" + line
      case 1: a = ""
      case 2: b = "second \(index)\n"
      case 3: b = ""
      default: break
      }
      base += line + mark
      first += a + mark
      second += b + mark
      expected += (a == line ? b : a) + mark
    }
    #expect(merged(base, first, second) == expected, "seed \(seed)")
    #expect(merged(base, second, first) == expected, "seed \(seed)")
    #expect(merged(base, first, base) == first, "seed \(seed)")
  }

  @Test("random texts merge to the same whichever side comes first", arguments: 1...60)
  func symmetry(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    func text() -> String {
      (0..<Int.random(in: 0...12, using: &random)).map { _ in
        "\(Int.random(in: 0..<3, using: &random))"
      }.joined(separator: "\n")
    }
    for _ in 0..<50 {
      let (base, first, second) = (text(), text(), text())
      #expect(merged(base, first, second) == merged(base, second, first), "seed \(seed)")
      #expect(merged(base, first, base) == first, "seed \(seed)")
      #expect(merged(base, base, second) == second, "seed \(seed)")
      #expect(merged(base, first, first) == first, "seed \(seed)")
    }
  }
}
