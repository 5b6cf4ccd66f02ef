import Foundation
import Testing

// Words that this project replaced by plainer ones. The limits are the numbers that are left: lower them with each
// text that is rewritten, and never raise one.

/// A word that comments, messages and pages avoid.
private struct AvoidedWord {
  let pattern: String
  /// The word to use.
  let instead: String
  /// The most places that may have the word.
  let limit: Int

  init(_ pattern: String, _ instead: String, _ limit: Int) {
    (self.pattern, self.instead, self.limit) = (pattern, instead, limit)
  }
}

private let avoided = [
  AvoidedWord(#"\banew\b"#, "again, from scratch", 3),
  AvoidedWord(#"\bbeside\b"#, "next to, in addition to, concurrently with", 9),
  AvoidedWord(#"\bstands?\b"#, "is", 1),
  AvoidedWord(#"\b(of|by|from|behind|below) which\b"#, "two sentences", 27),
  AvoidedWord(#"\bso many\b"#, "the number, or the limit", 2),
  AvoidedWord(#"\b(whatever|whoever)\b"#, "any, the caller", 10),
  AvoidedWord(#"\b(nobody|somebody)\b"#, "the process, the caller", 4),
  AvoidedWord(#"\bmeanwhile\b"#, "concurrently", 3),
  AvoidedWord(#"\b(is|are|was|were|be|been) told\b"#, "is notified, reports", 1),
  AvoidedWord(#"\b(gives?|gave|given|giving) up\b"#, "abandons, frees", 2),
  AvoidedWord(#"\bputs? aside\b"#, "ignores, keeps", 1),
  AvoidedWord(#"\blooks? whether\b"#, "checks", 0),
  AvoidedWord(#"\b(takes?|took|taken) (in|over)\b"#, "imports, applies", 8),
  AvoidedWord(#"\b(hears?|heard) of\b"#, "is notified of", 0),
  AvoidedWord(#"\bfor good\b"#, "permanently", 0),
  AvoidedWord(#"\bcomes? to nothing\b"#, "results in nothing", 0),
  AvoidedWord(#"\bhad its quiet\b"#, "has been idle for the quiet period", 0),
  AvoidedWord(#"/// Creates an? [\w ]+\.$"#, "no comment", 1),
]

/// Returns the comments and the string literals of a source file, a line each.
private func words(of source: String) -> String {
  source.split(separator: "\n").compactMap { line -> String? in
    if let comment = line.range(of: "//") { return String(line[comment.lowerBound...]) }
    guard line.utf8.contains(UInt8(ascii: "\"")) else { return nil }
    let literals = line.matches(of: #/"((?:[^"\\]|\\.)*)"/#).map { String($0.1) }
    return literals.isEmpty ? nil : literals.joined(separator: " ")
  }.joined(separator: "\n")
}

/// Returns the number of places of a text that match a pattern.
private func places(of pattern: String, in text: String) throws -> Int {
  // Many times faster than Regex.
  let expression = try NSRegularExpression(
    pattern: pattern, options: [.caseInsensitive, .anchorsMatchLines])
  return expression.numberOfMatches(in: text, range: NSRange(text.startIndex..., in: text))
}

@Test("Comments, messages and pages avoid more and more of the words that have a plainer one")
func wordsBecomePlainer() throws {
  let sources = Repository.files(below: "Sources") {
    ["swift", "c", "h"].contains($0.pathExtension)
  }
  #expect(sources.count > 500, "the sources were not found")
  var texts = sources.map { (path: $0.path, text: words(of: $0.text)) }
  texts += Repository.pages().map { (path: "docs/\($0.key)", text: $0.value) }
  texts.append(("README.md", try Repository.text("README.md")))
  for word in avoided {
    let found = try texts.map { (path: $0.path, count: try places(of: word.pattern, in: $0.text)) }
    let count = found.reduce(0) { $0 + $1.count }
    let most = found.sorted { $0.count > $1.count }.prefix(5).map { "\($0.path): \($0.count)" }
    #expect(
      count <= word.limit,
      "\(word.pattern) is in \(count) places; say \(word.instead). Most are in \(most)")
  }
}
