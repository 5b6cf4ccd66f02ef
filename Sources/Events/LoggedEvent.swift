/// A line of a store's log: a time, the kind of an event, and words.
package struct LoggedEvent: Hashable, Sendable {
  package struct Kind: Hashable, Sendable, ExpressibleByStringLiteral {
    package let word: String

    package init(stringLiteral word: String) { self.word = word }
    fileprivate init(word: Substring) { self.word = String(word) }

    package static let version: Kind = "version"
    package static let error: Kind = "error"
  }

  /// In UTC.
  package var time: String
  package var kind: Kind
  /// Without control characters.
  package var text: String

  /// Replaces control characters by spaces: `text` may have names that peers chose.
  package init(time: String, kind: Kind, text: String) {
    self.time = time
    self.kind = kind
    self.text = String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? " " : $0 }))
  }

  /// Reads a line without its end; nil for another text.
  package init?(line: some StringProtocol) {
    let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    self.init(
      time: String(parts[0]), kind: Kind(word: Substring(parts[1])), text: String(parts[2]))
  }

  package var line: String { "\(time) \(kind.word) \(text)" }
}
