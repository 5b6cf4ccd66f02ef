import Events
import Testing

@testable import TreeSupport
@testable import WorkingTree

@Suite("Events of the log", .timeLimit(.minutes(1)))
struct LoggedEventTests {
  @Test(
    "A line is read as it was written",
    arguments: ["", "2026 version", "error: a  b ", "ü"])
  func read(text: String) throws {
    let event = LoggedEvent(time: "2026-11-24T10:00:00Z", kind: .error, text: text)
    #expect(LoggedEvent(line: event.line) == event)
  }

  @Test("Control characters become spaces, so that an event is one line")
  func control() {
    #expect(LoggedEvent(time: "t", kind: "peer", text: "a\nb\u{9B}c").line == "t peer a b c")
  }

  @Test("A text with less than three parts is no line", arguments: ["", "t", "t error"])
  func short(line: String) {
    #expect(LoggedEvent(line: line) == nil)
  }
}
