/// A line of a store's log: a time, the kind of an event, and words.
package struct LoggedEvent: Hashable, Sendable {
  /// The kind of an event: a word without a space.
  package struct Kind: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The word in the log.
    package let word: String

    package init(stringLiteral word: String) { self.word = word }

    fileprivate init(word: Substring) { self.word = String(word) }

    /// A version was made of saved changes.
    package static let version: Kind = "version"
    /// Something failed.
    package static let error: Kind = "error"
  }

  /// The time in UTC, as the log has it.
  package var time: String
  /// The kind.
  package var kind: Kind
  /// The words; control characters are replaced by spaces.
  package var text: String

  /// Creates an event; names that peers chose may be in `text`, so control characters go.
  package init(time: String, kind: Kind, text: String) {
    self.time = time
    self.kind = kind
    self.text = String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? " " : $0 }))
  }

  /// Reads a line without its end; nil if it is no line of a log.
  package init?(line: some StringProtocol) {
    let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    self.init(
      time: String(parts[0]), kind: Kind(word: Substring(parts[1])), text: String(parts[2]))
  }

  /// The line, without its end.
  package var line: String { "\(time) \(kind.word) \(text)" }
}
