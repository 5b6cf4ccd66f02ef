import TestSupport
import Testing

@testable import LLVSCore

@Suite("Differences of texts", .timeLimit(.minutes(1)))
struct TextDiffTests {
  private func diff(_ old: [UInt8], _ new: [UInt8]) -> (TextLines, TextLines, [SequenceChange]) {
    var table = LineTable()
    let (a, b) = (table.lines(old), table.lines(new))
    return (a, b, TextDiff.changes(from: a, to: b))
  }

  private func diff(_ old: [String], _ new: [String]) -> (TextLines, TextLines, [SequenceChange]) {
    diff(
      Array(old.map { $0 + "\n" }.joined().utf8), Array(new.map { $0 + "\n" }.joined().utf8))
  }

  /// What the changes make of the old text.
  private func applied(
    _ changes: [SequenceChange], _ old: TextLines, _ new: TextLines
  ) -> [UInt8] {
    var out: [UInt8] = []
    var line = 0
    for change in changes {
      out += old.bytes(line..<change.old.lowerBound)
      out += new.bytes(change.new)
      line = change.old.upperBound
    }
    return out + old.bytes(line..<old.count)
  }

  /// The length of the longest common subsequence, by the textbook.
  private func common(_ a: [String], _ b: [String]) -> Int {
    var row = [Int](repeating: 0, count: b.count + 1)
    for x in a {
      var diagonal = 0
      for (index, y) in b.enumerated() {
        let above = row[index + 1]
        row[index + 1] = x == y ? diagonal + 1 : max(above, row[index])
        diagonal = above
      }
    }
    return row[b.count]
  }

  @Test("the changes make the new text of the old one, and no shorter ones would")
  func shortest() {
    for seed in 0..<400 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      func text() -> [String] {
        (0..<Int.random(in: 0...40, using: &random)).map { _ in
          String(Int.random(in: 0...6, using: &random))
        }
      }
      let (a, b) = (text(), text())
      let (old, new, changes) = diff(a, b)
      #expect(applied(changes, old, new) == new.text, "seed \(seed)")
      let kept = a.count - changes.reduce(0) { $0 + $1.old.count }
      #expect(kept == common(a, b), "seed \(seed)")
      for (one, next) in zip(changes, changes.dropFirst()) {
        #expect(one.old.upperBound < next.old.lowerBound, "seed \(seed)")
        #expect(one.new.upperBound < next.new.lowerBound, "seed \(seed)")
      }
    }
  }

  @Test("more changes than the shortest script is looked for are still told one by one")
  func manyChanges() {
    let a = (0..<30_000).map { "line \($0)" }
    var b = a
    for index in stride(from: 0, to: 30_000, by: 5) { b[index] += " changed" }
    let (old, new, changes) = diff(a, b)
    #expect(applied(changes, old, new) == new.text)
    #expect(changes.count == 6000)
    #expect(changes.allSatisfy { $0.old.count == 1 && $0.new.count == 1 })
  }

  @Test("texts made to be hard to compare take bounded work")
  func hostile() {
    var random = SeededRandom(seed: 7)
    // Few different lines, none of them unique, in no common order.
    func text() -> [String] {
      (0..<60_000).map { _ in String(UInt8.random(in: 0...3, using: &random)) }
    }
    let (old, new, changes) = diff(text(), text())
    #expect(applied(changes, old, new) == new.text)
    #expect(!changes.isEmpty)
  }

  @Test("a text without a last newline differs from one with it, in the last line only")
  func lastNewline() {
    let (_, _, changes) = diff(Array("a\nb\nc".utf8), Array("a\nb\nc\n".utf8))
    #expect(changes == [SequenceChange(old: 2..<3, new: 2..<3)])
    let (_, _, emptied) = diff(Array("a\n".utf8), [])
    #expect(emptied == [SequenceChange(old: 0..<1, new: 0..<0)])
  }

  @Test("an added function begins with its first line and ends with the blank line behind it")
  func slides() {
    let before = ["func a() {", "  x", "}", "", "func c() {", "  x", "}"]
    let after = [
      "func a() {", "  x", "}", "", "func b() {", "  x", "}", "", "func c() {", "  x", "}",
    ]
    #expect(diff(before, after).2 == [SequenceChange(old: 4..<4, new: 4..<8)])
    #expect(diff(after, before).2 == [SequenceChange(old: 4..<8, new: 4..<4)])
    // At the end, the blank line before it.
    let last = ["func a() {", "  x", "}", "", "func b() {", "  x", "}"]
    #expect(diff(Array(before[..<3]), last).2 == [SequenceChange(old: 3..<3, new: 3..<7)])
  }
}
