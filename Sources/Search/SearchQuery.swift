/// The words of a search; a file must have all of them, in any order.
///
/// `"a phrase"` is a row of words, `begin*` a beginning, `-not` an excluded word, `a OR b` either, `name:word` a
/// word of the path. A word with punctuation inside is a row of words, and so are the characters of Chinese,
/// Japanese, Korean and Thai.
package struct SearchQuery: Hashable, Sendable {
  struct Term: Hashable, Sendable {
    var text: String
    var isPrefix = false
    var isExcluded = false
    var isName = false

    var expression: String {
      // A NUL would end the query.
      let plain = SearchText.separated(text).filter { $0 != "\"" && $0 != "\0" }
      return "\"\(plain)\"\(isPrefix ? " *" : "")"
    }
  }

  private static let termLimit = 256

  /// The most groups with words of text and name: each doubles the queries.
  private static let mixedLimit = 4

  /// In each group one term is enough.
  private(set) var groups: [[Term]] = []

  private init(groups: [[Term]]) { self.groups = groups }

  /// Nil without a required word, or with too many words or mixed groups.
  package init?(_ text: String) {
    var parser = Parser(rest: Substring(text))
    var joinsNext = false
    var count = 0
    while let item = parser.next() {
      switch item {
      case .or: joinsNext = !groups.isEmpty
      case .term(let term):
        count += 1
        guard count <= Self.termLimit else { return nil }
        if joinsNext, !term.isExcluded, let last = groups.indices.last,
          !groups[last][0].isExcluded
        {
          groups[last].append(term)
        } else {
          groups.append([term])
        }
        joinsNext = false
      }
    }
    guard groups.contains(where: { !$0[0].isExcluded }),
      groups.count(where: Self.isMixed) <= Self.mixedLimit
    else { return nil }
  }

  private static func isMixed(_ group: [Term]) -> Bool {
    group.contains { $0.isName != group[0].isName }
  }

  /// Queries; one is enough. Each group is about the text or about the name, because these have separate indexes.
  var alternatives: [SearchQuery] {
    var all: [[[Term]]] = [[]]
    for group in groups {
      let choices =
        Self.isMixed(group) ? [group.filter { !$0.isName }, group.filter(\.isName)] : [group]
      all = choices.flatMap { choice in all.map { $0 + [choice] } }
    }
    return all.map { SearchQuery(groups: $0) }
  }

  /// Queries for FTS5; nil if there is no such condition.
  var textExpression: String? { expression { !$0.isName } }
  var nameExpression: String? { expression { $0.isName } }
  var excludedText: String? { excluded { !$0.isName } }
  var excludedName: String? { excluded { $0.isName } }

  private func excluded(_ isWanted: (Term) -> Bool) -> String? {
    let terms = groups.joined().filter { $0.isExcluded && isWanted($0) }
    return terms.isEmpty ? nil : terms.map(\.expression).joined(separator: " OR ")
  }

  private func expression(_ isWanted: (Term) -> Bool) -> String? {
    func text(_ terms: [Term]) -> String {
      "(\(terms.map(\.expression).joined(separator: " OR ")))"
    }
    let wanted = groups.map { $0.filter(isWanted) }.filter { !$0.isEmpty }
    let required = wanted.filter { !$0[0].isExcluded }
    guard !required.isEmpty else { return nil }
    let excluded = wanted.filter { $0[0].isExcluded }
    return required.map(text).joined(separator: " AND ")
      + excluded.map { " NOT \(text($0))" }.joined()
  }

  var lineTerms: [Term] { groups.joined().filter { !$0.isExcluded && !$0.isName } }

  /// The texts that an alternative requires byte by byte: one of each group.
  var exactGroups: [[String]] {
    groups.map { $0.filter { !$0.isExcluded && !$0.isName }.map(\.text) }.filter { !$0.isEmpty }
  }
}

private struct Parser {
  enum Item {
    case or
    case term(SearchQuery.Term)
  }

  var rest: Substring

  mutating func next() -> Item? {
    while let first = rest.first {
      if first.isWhitespace {
        rest.removeFirst()
        continue
      }
      if let item = item() { return item }
    }
    return nil
  }

  private mutating func item() -> Item? {
    var term = SearchQuery.Term(text: "")
    if rest.first == "-", rest.count > 1 {
      term.isExcluded = true
      rest.removeFirst()
    }
    if rest.hasPrefix("name:") {
      term.isName = true
      rest = rest.dropFirst(5)
    }
    if rest.first == "\"" {
      rest.removeFirst()
      term.text = String(rest.prefix { $0 != "\"" })
      rest = rest.dropFirst(term.text.count + 1)
    } else {
      let word = rest.prefix { !$0.isWhitespace && $0 != "\"" }
      rest = rest.dropFirst(word.count)
      if word == "OR" { return .or }
      term.isPrefix = word.hasSuffix("*") && word.count > 1
      term.text = String(term.isPrefix ? word.dropLast() : word)
    }
    return SearchText.hasWord(term.text) ? .term(term) : nil
  }
}
