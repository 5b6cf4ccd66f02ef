import Foundation
import Grammar
import Testing

@Suite("Values of replies", .timeLimit(.minutes(1)))
struct ReplyValueTests {
  @Test(
    "A text is the same after it was read, and its JSON has no control character",
    arguments: [
      "", "plain", "a \"quote\" \\ and /", "line\nand\ttab\r", "\u{0}\u{1B}[31m\u{7F}",
      "\u{80}\u{9B}\u{9F}\u{A0}\u{BF}\u{C2}", "ü€🙂",
    ])
  func text(_ text: String) throws {
    let json = ([text: text] as ReplyValue).json
    #expect(!json.unicodeScalars.contains { $0.properties.generalCategory == .control })
    let read = try JSONSerialization.jsonObject(with: Data(json.utf8))
    #expect(read as? [String: String] == [text: text])
  }

  @Test("Lists and records keep their order")
  func nested() {
    let value: ReplyValue = [
      "b": ReplyValue.list([.null, .flag(true), .number(-7), .list([])]),
      "a": [:] as ReplyValue,
    ]
    #expect(value.json == #"{"b":[null,true,-7,[]],"a":{}}"#)
  }
}
