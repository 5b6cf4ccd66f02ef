import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite struct TextMergeTests {
  /// The merge; behind `!` where something was dropped.
  private func merged(
    _ base: String?, _ older: String, _ newer: String, _ clashes: TextMerge.Clashes = .takeNewer
  ) -> String? {
    TextMerge.merged(
      base: base.map { Array($0.utf8) }, older: Array(older.utf8), newer: Array(newer.utf8),
      clashes: clashes
    ).map { ($0.hasClash ? "!" : "") + String(decoding: $0.bytes, as: UTF8.self) }
  }

  @Test("lines that one side changed are taken from it")
  func apart() {
    #expect(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n") == "A\nb\nC\n")
    #expect(merged("a\nb\nc\n", "x\na\nb\nc\n", "a\nb\nc\ny\n") == "x\na\nb\nc\ny\n")
    #expect(merged("a\nb\nc\n", "b\nc\n", "a\nb\n") == "b\n")
    // Lines beside each other are lines of their own.
    #expect(merged("a\nb\n", "A\nb\n", "a\nB\n") == "A\nB\n")
    #expect(merged("a\nb\nc\n", "a\nX\nc\n", "a\nb\nnew\nc\n") == "a\nX\nnew\nc\n")
    #expect(merged("a\nb\nc\n", "a\nb\nc\n", "") == "")
    #expect(merged("", "a\n", "") == "a\n")
  }

  @Test("the same change on both sides is made once")
  func alike() {
    #expect(merged("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n") == "a\nX\nc\n")
    #expect(merged("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", "A\nb\nc\nd\ne\n") == "A\nb\nc\nd\nE\n")
    #expect(merged("a\nb\n", "", "") == "")
  }

  @Test("where both changed the same line the newer side's is taken, and all else from both")
  func clashing() {
    #expect(merged("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n") == "!a\nY\nc\n")
    #expect(
      merged("1\n2\n3\n4\n9\n", "1-A\n2\n3\n4\n9-A\n", "1-B\n2\n3\n4\n9\n")
        == "!1-B\n2\n3\n4\n9-A\n")
    #expect(merged("a\nb\nc\n", "A\nB\nc\n", "x\nb\nc\n") == "!x\nB\nc\n")
    // Changed here, removed there.
    #expect(merged("a\nb\nc\n", "", "a\nb\nC\n") == "!C\n")
    #expect(merged("a\nb\nc\n", "a\nb\nC\n", "") == "!")
    // A line changed and one added behind it; the line was changed there too.
    #expect(
      merged("- milk\n- x\n", "- milk 2l\n- eggs\n- x\n", "- oat milk\n- x\n")
        == "!- oat milk\n- eggs\n- x\n")
    #expect(merged("1\n2\n3\n", "some\nother\n3\n", "1\n3\n") == "!some\n3\n")
    // Some lines in place of another number of others, none alike, are one change.
    #expect(merged("1\n2\n3\n", "foo\n", "1\nzwei\n3\n") == "!1\nzwei\n3\n")
    let pieces = TextMerge.pieces(
      base: Array("a\nb\nc\n".utf8), older: Array("a\nX\nc\n".utf8),
      newer: Array("a\nY\nc\nd\n".utf8))
    #expect(
      pieces == [
        .agreed(Array("a\n".utf8)),
        .clash(base: Array("b\n".utf8), older: Array("X\n".utf8), newer: Array("Y\n".utf8)),
        .agreed(Array("c\nd\n".utf8)),
      ])
  }

  @Test("what both added at one place stays, the older side's first, the same once")
  func additions() {
    #expect(merged("x\n", "x\n- from B\n", "x\n- from A\n") == "x\n- from B\n- from A\n")
    #expect(merged("", "a\n", "b\n") == "a\nb\n")
    #expect(merged("x\n", "x\na\n", "x\na\n") == "x\na\n")
    #expect(merged("x\n", "x\na\nb\nc\n", "x\nb\n") == "x\na\nb\nc\n")
    #expect(merged("x\n", "x\nb\n", "x\na\nb\n") == "x\na\nb\n")
    // Whoever appends to a text without a last newline adds that too.
    #expect(merged("x", "x\na\n", "x\nb\n") == "x\na\nb\n")
    #expect(merged("x\n", "x\na", "x\nb\n") == "x\na\nb")
    // Both replaced the lines before.
    #expect(
      merged("sum: 5\n", "sum: 6\na\n", "sum: 6\nb\n") == "sum: 6\na\nb\n")
  }

  @Test("of both together nothing is dropped: where lines clash the older side's stand first")
  func both() {
    #expect(merged("a\nb\n", "A\nb\n", "X\nb\nc\n", .keepBoth) == "A\nX\nb\nc\n")
    #expect(merged("a\nb\n", "b\n", "X\nb\n", .keepBoth) == "X\nb\n")
    // Nothing is known of what both came from.
    #expect(merged(nil, "a\nb\nc\n", "a\nx\nc\nd\n", .keepBoth) == "a\nb\nx\nc\nd\n")
    #expect(merged(nil, "a\n", "b", .keepBoth) == "a\nb\n")
  }

  @Test("line ends and a missing last newline are kept as each side has them")
  func lineEnds() {
    #expect(merged("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n") == "A\r\nb\r\nC\r\n")
    #expect(merged("a\nb\nc", "A\nb\nc", "a\nb\nC") == "A\nb\nC")
    #expect(merged("a\nb\nc", "A\nb\nc", "a\nb\nc\n") == "A\nb\nc\n")
    #expect(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc") == "A\nb\nc")
    #expect(merged("a\nb\nc", "A\nb\nc", "a\nb\nc\nd") == "A\nb\nc\nd")
    // Every line's end against one line's text.
    #expect(merged("a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nX\nc\n") == "!a\r\nX\nc\r\n")
    #expect(merged("a\r\nb", "a\r\nb\r\nc", "A\r\nb") == "A\r\nb\r\nc")
    #expect(merged("a\r", "a\r", "b\r") == "b\r")
  }

  @Test("what is no text is not merged, and what differs in everything clashes with any change")
  func bounds() {
    #expect(merged("a\0\nb\nc\n", "a\0\nb\nC\n", "a\0\nb\nc\n") == nil)
    let numbers = (0..<5000).map { "\($0)\n" }.joined()
    let others = (0..<5000).map { "x\($0)\nm\n" }.joined()
    let mixed = (0..<5000).map { "y\($0)\nm\nz\n" }.joined()
    #expect(merged(numbers, others, numbers + "end\n")?.hasSuffix("m\nend\n") == true)
    #expect(merged(others, mixed, others + "end\n")?.hasSuffix("z\nend\n") == true)
    #expect(merged(numbers, others, numbers.replacing("77\n", with: "78\n"))?.first == "!")
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

  /// What a side does with a line: nothing, another text, nothing left; and what it adds before it.
  private struct Deed {
    var text: String?
    var added: [String] = []
  }

  @Test("a line that one side alone changed, removed or added is in the merge", arguments: 1...60)
  func model(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    // No two are alike, but those of which one was made of the other.
    func line() -> String {
      String(
        (0..<16).map { _ in
          "abcdefghijklmnopqrstuvwxyz0123456789".randomElement(using: &random) ?? "a"
        })
    }
    let base = (0..<Int.random(in: 0...30, using: &random)).map { _ in line() }
    func side() -> [Deed] {
      var deeds: [Deed] = []
      for index in 0...base.count {
        var deed = Deed(text: index < base.count ? base[index] : nil)
        let isGone = index > 0 && index <= base.count && deeds[index - 1].text == nil
        switch Int.random(in: 0..<8, using: &random) {
        case 0 where index < base.count:
          deed.text = base[index] + " \(Int.random(in: 0..<3, using: &random))"
        case 1 where index < base.count && deed.added.isEmpty: deed.text = nil
        // Beside a line that is gone it would be that line's new text.
        case 2 where !isGone:
          deed.added = (0..<Int.random(in: 1...3, using: &random)).map { _ in line() }
        default: break
        }
        deeds.append(deed)
      }
      return deeds
    }
    func text(_ deeds: [Deed]) -> String {
      deeds.flatMap { $0.added + [$0.text].compactMap(\.self) }.map { "\($0)\n" }.joined()
    }
    let (older, newer) = (side(), side())
    var expected: [String] = []
    var isClash = false
    for index in 0...base.count {
      expected += older[index].added + newer[index].added
      let (a, b) = (older[index].text, newer[index].text)
      let o = index < base.count ? base[index] : nil
      if a != b, a != o, b != o { isClash = true }
      expected += [b == o ? a : b].compactMap(\.self)
    }
    let start = base.map { "\($0)\n" }.joined()
    let result = merged(start, text(older), text(newer))
    #expect(
      result == (isClash ? "!" : "") + expected.map { "\($0)\n" }.joined(), "seed \(seed)")
  }

  @Test(
    "of random texts no line is lost that one side added, unless something clashed",
    arguments: 1...60)
  func random(seedOfTexts seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    func text() -> String {
      (0..<Int.random(in: 0...12, using: &random)).map { _ in
        "\(Int.random(in: 0..<5, using: &random))"
      }.joined(separator: "\n")
    }
    for _ in 0..<50 {
      let (base, older, newer) = (text(), text(), text())
      let result = merged(base, older, newer) ?? ""
      let swapped = merged(base, newer, older) ?? ""
      #expect((result.first == "!") == (swapped.first == "!"), "seed \(seed)")
      if result.first != "!" {
        let held = Set(result.split(separator: "\n"))
        let added = Set((older + "\n" + newer).split(separator: "\n"))
          .subtracting(base.split(separator: "\n"))
        #expect(added.isSubset(of: held), "seed \(seed): \([base, older, newer])")
      }
      #expect(merged(base, older, base) == older, "seed \(seed)")
      #expect(merged(base, base, newer) == newer, "seed \(seed)")
      #expect(merged(base, older, older) == older, "seed \(seed)")
      #expect(merged(base, older, newer, .keepBoth)?.first != "!", "seed \(seed)")
    }
  }
}
