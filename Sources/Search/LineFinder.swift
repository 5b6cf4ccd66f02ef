internal import Foundation
internal import Platform
internal import SQLite

/// Chooses the lines of hits: a fast check finds lines that may have one of the words, and the index's own rules
/// decide which words each of them has.
struct LineFinder {
  private struct Candidate {
    var hit: Int
    var line: SearchHit.Line
    var score = 0
  }

  /// The most lines of a file.
  private static let candidateLimit = 200
  /// The bytes of a long line before the word.
  private static let margin = 150
  private let query: SearchQuery
  private let wanted: Int
  /// The beginnings of the words: lower case, without accents and English endings.
  private let beginnings: [[UInt8]]
  private var candidates: [Candidate] = []

  init(_ query: SearchQuery, wanted: Int) {
    self.query = query
    self.wanted = wanted
    let words = query.lineTerms.flatMap { Self.words(Self.folded($0.text)) }
    beginnings = Set(
      words.map { word in
        let word = Array(word.utf8)
        return word.count > 3 && word.allSatisfy({ $0 < 0x80 })
          ? Array(word.prefix(max(3, word.count - 3))) : word
      }
    ).map { $0 }
  }

  private static func words(_ text: String) -> [Substring] {
    SearchText.separated(text).split { !$0.isLetter && !$0.isNumber }
  }

  private static func folded(_ text: String) -> String {
    text.decomposedStringWithCanonicalMapping.lowercased()
      .precomposedOfMarks
  }

  /// Adds the lines of a hit that may have one of the words.
  mutating func add(_ text: String, ofHit hit: Int) {
    guard wanted > 0 else { return }
    var text = text
    let count = candidates.count
    text.withUTF8 { addPlain($0, hit) }
    guard candidates.count == count else { return }
    // Only accents or capitals beyond ASCII can still make a difference.
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      guard candidates.count - count < Self.candidateLimit else { return }
      if line.utf8.allSatisfy({ $0 < 0x80 }) { continue }
      let folded = Array(Self.folded(String(line.prefix(4096))).utf8)
      guard folded.withUnsafeBufferPointer({ Self.match(beginnings, in: $0) }) != nil else {
        continue
      }
      candidates.append(
        Candidate(
          hit: hit, line: SearchHit.Line(number: index + 1, text: String(line.prefix(1000)))))
    }
  }

  private mutating func addPlain(_ bytes: UnsafeBufferPointer<UInt8>, _ hit: Int) {
    let end = candidates.count + Self.candidateLimit
    var (start, number) = (0, 1)
    while start < bytes.count, candidates.count < end {
      let stop = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
      let line = UnsafeBufferPointer(rebasing: bytes[start..<stop])
      if let at = Self.match(beginnings, in: line) {
        candidates.append(
          Candidate(
            hit: hit, line: SearchHit.Line(number: number, text: Self.part(of: line, around: at))))
      }
      (start, number) = (stop + 1, number + 1)
    }
  }

  /// Returns the possible beginning of one of the words.
  private static func match(
    _ beginnings: [[UInt8]], in line: UnsafeBufferPointer<UInt8>
  ) -> Int? {
    for word in beginnings {
      guard let first = word.first else { continue }
      let isLetter = first >= 0x61 && first <= 0x7A
      var at = 0
      while at + word.count <= line.count {
        let byte = line[at]
        if byte == first || isLetter && byte | 0x20 == first {
          let isStart = at == 0 || !line[at - 1].isPlain() || first >= 0x80
          if isStart, equals(word, line, at) { return at }
        }
        at += 1
      }
    }
    return nil
  }

  private static func equals(
    _ word: [UInt8], _ line: UnsafeBufferPointer<UInt8>, _ at: Int
  ) -> Bool {
    for (index, byte) in word.enumerated() {
      let other = line[at + index]
      guard other == byte || byte >= 0x61 && byte <= 0x7A && other | 0x20 == byte else {
        return false
      }
    }
    return true
  }

  /// Returns a line, or the part of a long one around a place.
  private static func part(of line: UnsafeBufferPointer<UInt8>, around at: Int) -> String {
    var text = line[...]
    if text.last == 0x0D { text.removeLast() }
    guard text.count > 4 * margin else { return String(decoding: text, as: UTF8.self) }
    var (start, end) = (max(0, at - margin), min(text.count, at + 3 * margin))
    // Not within a character.
    while start > 0, text[start] & 0xC0 == 0x80 { start -= 1 }
    while end < text.count, text[end] & 0xC0 == 0x80 { end += 1 }
    return (start > 0 ? "..." : "") + String(decoding: text[start..<end], as: UTF8.self)
      + (end < text.count ? "..." : "")
  }

  /// Calls a body with each hit's number and its lines with most of the words, in their order.
  mutating func choose(
    from database: Database, _ body: (Int, SearchHit.Line) -> Void
  ) throws(DatabaseError) {
    guard !candidates.isEmpty else { return }
    try database.execute(
      """
      CREATE VIRTUAL TABLE IF NOT EXISTS temp.lines USING
        fts5(text, content = '', detail = full, tokenize = 'porter unicode61');
      SAVEPOINT lines
      """)
    defer { try? database.execute("ROLLBACK TO lines; RELEASE lines") }
    for (index, candidate) in candidates.enumerated() {
      try database.prepared("INSERT INTO temp.lines (rowid, text) VALUES (?, ?)")
        .bind(1, Int64(index)).bind(2, SearchText.separated(candidate.line.text)).run()
    }
    for term in query.lineTerms {
      let rows = try database.prepared("SELECT rowid FROM temp.lines WHERE lines MATCH ?")
        .bind(1, term.expression)
      while try rows.step() { candidates[Int(rows.integer(0))].score += 1 }
    }
    var start = 0
    while start < candidates.count {
      let hit = candidates[start].hit
      let end = candidates[start...].firstIndex { $0.hit != hit } ?? candidates.count
      var lines = candidates[start..<end].filter { $0.score > 0 }
      // A phrase may continue in the next line.
      if lines.isEmpty { lines = Array(candidates[start..<end].prefix(1)) }
      lines.sort { ($1.score, $0.line.number) < ($0.score, $1.line.number) }
      for line in lines.prefix(wanted).sorted(by: { $0.line.number < $1.line.number }) {
        body(hit, line.line)
      }
      start = end
    }
  }

  /// Returns lines with one of the exact texts; nil if the text meets none of these alternatives.
  func exactLines(
    of text: String, _ limit: Int, meeting alternatives: [Int]
  ) -> [SearchHit.Line]? {
    let bytes = Array(text.utf8)
    let all = query.alternatives
    let groups = alternatives.map { all[$0].exactGroups.map { $0.map { Array($0.utf8) } } }
    func place(of word: [UInt8], in part: ArraySlice<UInt8>) -> Int? {
      part.firstRange(of: word)?.lowerBound
    }
    let met = groups.filter { groups in
      groups.allSatisfy { group in group.contains { place(of: $0, in: bytes[...]) != nil } }
    }
    guard !met.isEmpty else { return nil }
    let words = met.joined().flatMap { $0 }
    var lines: [SearchHit.Line] = []
    var (start, number) = (0, 1)
    while start < bytes.count, lines.count < limit {
      let stop = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
      if let at = words.lazy.compactMap({ place(of: $0, in: bytes[start..<stop]) }).first {
        bytes[start..<stop].withUnsafeBufferPointer {
          lines.append(SearchHit.Line(number: number, text: Self.part(of: $0, around: at - start)))
        }
      }
      (start, number) = (stop + 1, number + 1)
    }
    return lines
  }
}

extension String {
  /// Without the marks of a decomposed text.
  fileprivate var precomposedOfMarks: String {
    var result = String.UnicodeScalarView()
    for scalar in unicodeScalars where scalar.properties.generalCategory != .nonspacingMark {
      result.append(scalar)
    }
    return String(result).precomposedStringWithCanonicalMapping
  }
}
