import LLVSCore

/// A file as a look through all files sees it: its words in order, without the index's help.
struct ScannedFile: Hashable {
  var path: String
  /// The version that stored the bytes; nil for a file of the tree as it is now.
  var version: VersionNumber?
  /// The words of the text; nil for bytes that are no text.
  var words: [String]?

  init(path: String, version: VersionNumber? = nil, bytes: [UInt8]) {
    self.path = path
    self.version = version
    words = Self.text(bytes).map(ScannedWords.words)
  }

  private static func text(_ bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0xFF, 0xFE]) {
      let units = stride(from: 2, to: bytes.count, by: 2).map {
        UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8
      }
      return String(decoding: units, as: UTF16.self)
    }
    return bytes.contains(0) ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

/// Words and queries of which a model knows the meaning.
enum ScannedWords {
  /// Spellings, each with what it is found by.
  static let spellings: [(text: String, stem: String)] = [
    ("ant", "ant"), ("ants", "ant"), ("Bee", "bee"), ("COWS", "cow"), ("cow", "cow"),
    ("dög", "dog"), ("dog", "dog"), ("elk", "elk"), ("running", "run"), ("runs", "run"),
    ("天気", "天気"), ("気", "気"), ("국어", "국어"), ("ไทย", "ไทย"),
  ]

  private static let stems = Dictionary(
    uniqueKeysWithValues: spellings.filter { $0.text.utf8.first ?? 0xFF < 0x80 || $0.stem == "dog" }
      .map { ($0.text, $0.stem) })

  /// Returns the words of a text of the spellings above, each character of a script without blanks as one.
  static func words(_ text: String) -> [String] {
    text.split { " -./\n".contains($0) }.map(String.init).flatMap { word in
      if let stem = stems[word] { return [stem] }
      return word.utf8.allSatisfy { $0 < 0x80 } ? [word] : word.unicodeScalars.map { String($0) }
    }
  }
}

/// A query together with what it asks for.
struct ScannedQuery {
  struct Term {
    var text: String
    var words: [String]
    var isPrefix = false
    var isName = false

    func isIn(_ others: [String]) -> Bool {
      guard others.count >= words.count else { return false }
      return (0...(others.count - words.count)).contains { start in
        words.indices.allSatisfy { index in
          let isLast = isPrefix && index == words.count - 1
          let other = others[start + index]
          return isLast ? other.hasPrefix(words[index]) : other == words[index]
        }
      }
    }
  }

  /// One term of each is enough.
  private var groups: [[Term]] = []
  private var excluded: [Term] = []

  /// Makes a query at random.
  init(_ random: inout SeededRandomSource) {
    for _ in 0..<random.number(1...3) {
      groups.append((0..<(random.isOne(in: 4) ? 2 : 1)).map { _ in Self.term(&random) })
    }
    while random.isOne(in: 4) { excluded.append(Self.term(&random)) }
  }

  private static func term(_ random: inout SeededRandomSource) -> Term {
    let isName = random.isOne(in: 5)
    let start = isName ? "name:" : ""
    switch random.number(0...5) {
    case 0:
      let parts = [random.spelling, random.spelling]
      let isQuoted = random.isOne(in: 2)
      let text = isQuoted ? "\"\(parts.joined(separator: " "))\"" : parts.joined(separator: "-")
      return Term(text: start + text, words: parts.flatMap(ScannedWords.words), isName: isName)
    case 1:
      let beginning = ["an", "be", "co", "do", "el", "ru", "f"][random.number(0...6)]
      return Term(text: "\(start)\(beginning)*", words: [beginning], isPrefix: true, isName: isName)
    default:
      let word = random.spelling
      return Term(text: start + word, words: ScannedWords.words(word), isName: isName)
    }
  }

  /// The query as a person writes it.
  var text: String {
    (groups.map { $0.map(\.text).joined(separator: " OR ") } + excluded.map { "-\($0.text)" })
      .joined(separator: " ")
  }

  /// True if the file has all that is asked for: in its text, or all of it in its name.
  func isMet(by file: ScannedFile) -> Bool {
    let name = ScannedWords.words(file.path)
    let text = file.words ?? []
    guard !excluded.contains(where: { $0.isIn($0.isName ? name : text) }) else { return false }
    if groups.allSatisfy({ $0.contains { $0.isIn($0.isName ? name : text) } }) { return true }
    return groups.allSatisfy { $0.contains { !$0.isName && $0.isIn(name) } }
      && !excluded.contains { $0.isIn(name) }
  }
}
