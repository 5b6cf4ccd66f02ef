import Testing

@testable import LLVSCore
@testable import StoreSupport

@Suite("Reasons of heads", .timeLimit(.minutes(1)))
struct HeadReasonTests {
  @Test(
    "A reason is read as it was written",
    arguments: [
      HeadReason.cut, .merge, .imported, .settled("a b"), .restore(version: "2026-11-24 a"),
      .branch("two words"),
      .switched(to: "head"), .undo(to: 12), .redo(to: -1), .branch(""), .other("conjured"),
    ])
  func read(reason: HeadReason) {
    #expect(HeadReason(text: reason.text) == reason)
  }

  @Test(
    "A text that this program does not write stays as it is",
    arguments: ["", "undo", "undo x", "undo 012", "redo +4", "switch", "undo 1 2", "cut  "])
  func foreign(text: String) {
    #expect(HeadReason(text: text) == .other(text))
    #expect(HeadReason(text: text).text == text)
  }
}
