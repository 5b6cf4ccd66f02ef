import Foundation

// Comments cite rules and layouts by page and number, as in "docs/merging.md, M9" (M is a number of
// that page alone), "docs/writes.md, rules 7 to 9" or "docs/formats.md, "The journal"". The pages
// cite each other by links, with the same words behind them.

/// The pages of the project, and the headings that can be cited in each.
struct Pages {
  private let headings: [String: [String]]

  /// Takes pages by file name.
  init(_ pages: [String: String]) {
    headings = pages.mapValues { text in
      text.split(separator: "\n").filter { $0.hasPrefix("#") }
        .map { $0.drop { $0 == "#" || $0 == " " }.description }
    }
  }

  var names: Set<String> { Set(headings.keys) }

  /// True if a heading begins with words and ends there or goes on behind a colon.
  func has(_ words: String, in page: String) -> Bool {
    (headings[page] ?? []).contains { $0 == words || $0.hasPrefix("\(words):") }
  }
}

/// Finds citations that lead nowhere.
struct CitationCheck {
  /// The rule or heading that a citation may name behind a page.
  private static let place = #"(?:, ((?:M|rules? )\d+(?:(?: to |, | and )M?\d+)*|"[^"]+"))?"#
  /// Words that cite what the repository does not have, in pieces so that this file is none of it.
  static let absent = [
    "of the " + "contract", "of the " + "design", "product" + ".md",
  ]

  let pages: Pages

  /// Sentences about the citations in the comments of a source file or script.
  func faults(inComments text: String) -> [String] {
    let comments = Self.comments(of: text)
    var faults: [String] = []
    for comment in comments {
      var rest = ""
      if comment.contains("docs/") {
        faults += check(comment, Self.cited, rest: &rest)
      } else {
        rest = comment
      }
      // Most comments have neither a number nor a page, and an expression takes long to say so.
      guard rest.utf8.contains(where: { 0x30...0x39 ~= $0 }) || rest.contains(".md") else {
        continue
      }
      // A section of a public standard is one that whoever reads can find.
      rest.replace(#/\bRFC \d+,? sections? [\d.]+/#, with: "")
      if let bare = try? #/\b[Rr]ules? \d+|\b[Ss]ections? \d+|\bM\d{1,2}\b/#.firstMatch(in: rest) {
        faults.append("\"\(bare.0)\" is cited without its page")
      }
      for match in rest.matches(of: #/\b([a-z-]+\.md)\b/#) {
        faults.append("\(match.1) is none of the repository's pages")
      }
    }
    return faults + absentWords(in: text)
  }

  /// The same of a page, or of another text for people.
  func faults(inPage name: String, _ text: String) -> [String] {
    var faults = absentWords(in: text)
    var (own, rest) = ("", "")
    faults += check(text, Self.linked, rest: &own)
    faults += check(own, Self.cited, rest: &rest)
    guard pages.names.contains(name) else { return faults }
    for match in rest.matches(of: #/\b(?:[Rr]ules? \d+(?:(?: to | and |, )\d+)*|M\d{1,2}\b)/#) {
      let page = match.0.hasPrefix("M") ? "merging.md" : name
      faults += check(place: String(match.0).lowercasedRule, in: page)
    }
    return faults
  }

  // MARK: - Parts

  private static let cited = pattern(#"docs/([A-Za-z-]+\.md)"#)
  private static let linked = pattern(
    #"\]\((?:\.\./)*(?:Sources/llvs/llvs\.docc/)?([a-z-]+\.md)\)"#)

  private static func pattern(_ page: String) -> String { page + place }

  private func absentWords(in text: String) -> [String] {
    Self.absent.filter(text.contains).map { "\"\($0)\" cites what the repository does not have" }
  }

  /// Checks all citations of a form; `rest` is the text without them.
  private func check(_ text: String, _ pattern: String, rest: inout String) -> [String] {
    guard let expression = try? NSRegularExpression(pattern: pattern) else { return ["no pattern"] }
    let whole = text as NSString
    var faults: [String] = []
    var end = 0
    for match in expression.matches(
      in: text, range: NSRange(location: 0, length: whole.length))
    {
      rest += whole.substring(with: NSRange(location: end, length: match.range.location - end))
      end = match.range.location + match.range.length
      let page = whole.substring(with: match.range(at: 1))
      guard pages.names.contains(page) else {
        faults.append("there is no page \(page)")
        continue
      }
      let place = match.range(at: 2)
      guard place.location != NSNotFound else { continue }
      faults += check(place: whole.substring(with: place), in: page)
    }
    rest += whole.substring(from: end)
    return faults
  }

  /// Checks that a page has the rules, or the heading, that are cited.
  private func check(place: String, in page: String) -> [String] {
    let words: [String]
    if place.hasPrefix("\"") {
      words = [String(place.dropFirst().dropLast())]
    } else if place.hasPrefix("M") {
      words = Self.numbers(place).map { "M\($0)" }
    } else {
      words = Self.numbers(place).map { "Rule \($0)" }
    }
    return words.filter { !pages.has($0, in: page) }.map { "\(page) has no \($0)" }
  }

  /// All numbers that a citation names, those between two ends included.
  private static func numbers(_ text: String) -> [Int] {
    let found = text.matches(of: #/(to )?M?(\d+)/#).compactMap { match in
      Int(match.2).map { (match.1 != nil, $0) }
    }
    var numbers: [Int] = []
    for (isEnd, number) in found {
      if isEnd, let last = numbers.last, last < number {
        numbers += Array(last + 1...number)
      } else {
        numbers.append(number)
      }
    }
    return numbers
  }

  /// The comments of a text, each row of lines as one, since a citation may go on in the next line.
  private static func comments(of text: String) -> [String] {
    var comments: [String] = []
    var isOpen = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let bare = line.drop { $0 == " " || $0 == "\t" }
      let mark = ["///", "//", "# ", "* "].first { bare.hasPrefix($0) }
      if let mark {
        let words = bare.dropFirst(mark.count).drop { $0 == " " }
        if isOpen {
          comments[comments.count - 1] += " " + words
        } else {
          comments.append(String(words))
        }
        isOpen = true
        continue
      }
      isOpen = false
      if let start = line.range(of: " // ") { comments.append(String(line[start.upperBound...])) }
    }
    return comments
  }
}

extension String {
  /// A rule's citation, whatever letter a sentence begins with.
  fileprivate var lowercasedRule: String {
    hasPrefix("Rule") ? "rule" + dropFirst(4) : self
  }
}
