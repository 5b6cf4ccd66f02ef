package import Grammar
package import LLVSCore

extension Store {
  /// Finds the version that a word names.
  ///
  /// The word may be `head`; a version's name or full id, which takes precedence over branches and tags; a branch,
  /// or `-` for the unnamed line: its newest head; a tag; the beginning of one version's id or name; `at/TIME`: the
  /// version that this store's tree showed then. `~` after any of these means the first predecessor, `~N` the same
  /// N times, `^2` the second predecessor. `branches/` and `tags/` before a name say which of these it is;
  /// `versions/` and `heads/` say that it is neither.
  /// - Throws: ``ControlError`` of kind notFound, with the nearest existing names; of kind grammar if several
  ///   versions begin with the word, or the text after `at/` is no time.
  package func version(meant word: String) throws(ControlError) -> VersionRecord {
    if let found = try exactly(word) { return found }
    if let found = try stepped(word) { return found }
    if word.hasPrefix("at/") {
      throw ControlError(.grammar, TimeExpression.refusal(String(word.dropFirst(3))))
    }
    let names = try nearestNames(to: word)
    throw ControlError(
      .notFound,
      "there is no version \(word)"
        + (names.isEmpty ? "" : "; nearest: \(names.joined(separator: ", "))"))
  }

  private func exactly(_ word: String) throws(ControlError) -> VersionRecord? {
    guard !word.isEmpty else { return nil }
    if word == "head" {
      guard let head = try translating({ try headRecord() }) else {
        throw ControlError(.notFound, "there is no version yet")
      }
      return head
    }
    if word.hasPrefix("at/"), let found = try version(at: String(word.dropFirst(3))) {
      return found
    }
    if let line = try line(meant: word) { return try newestHead(ofLine: line) }
    do throws(StoreError) {
      return try resolve(word)
    } catch {
      guard case .notFound = error else { throw ControlError(error) }
    }
    if let found = try foldered(word) { return found }
    return try beginning(with: word)
  }

  /// Returns the line that a word names; nil if the word names something else.
  package func line(meant word: String) throws(ControlError) -> String? {
    let isVersion = try translating {
      try version(exactly: word) != nil
    }
    guard !isVersion else { return nil }
    if try newestHead(ofLine: word) != nil { return word }
    let folder = "branches/"
    guard word.hasPrefix(folder) else { return nil }
    let name = String(word.dropFirst(folder.count))
    return try newestHead(ofLine: name) == nil ? nil : name
  }

  /// Finds the version of a path in a directory of `.llvs`.
  private func foldered(_ word: String) throws(ControlError) -> VersionRecord? {
    for folder in ["versions/", "heads/", "tags/"] where word.hasPrefix(folder) {
      let name = String(word.dropFirst(folder.count))
      let found = try translating {
        try folder == "tags/" ? version(tagged: name) : version(exactly: name)
      }
      if found != nil || folder == "tags/" { return found }
      return try beginning(with: name)
    }
    return nil
  }

  /// Finds the only version whose name begins with a text.
  private func beginning(with text: String) throws(ControlError) -> VersionRecord? {
    guard text.utf8.count >= 4 else { return nil }
    let matches = try translating {
      try versions(afterName: text, limit: 2).filter { $0.name.hasPrefix(text) }
    }
    guard matches.count < 2 else {
      throw ControlError(.grammar, "several versions begin with \(text)")
    }
    return matches.first
  }

  /// Finds a version some steps before another: `V~`, `V~3`, `V^`, `V^2`.
  private func stepped(_ word: String) throws(ControlError) -> VersionRecord? {
    // Each step is a recursive call.
    guard word.utf8.count <= 300, let mark = word.lastIndex(where: { $0 == "~" || $0 == "^" }),
      mark > word.startIndex
    else { return nil }
    let digits = word[word.index(after: mark)...]
    guard let count = digits.isEmpty ? 1 : Int(digits), count >= 0, count <= 1_000_000_000 else {
      return nil
    }
    let base = String(word[..<mark])
    var start = try exactly(base)
    if start == nil { start = try stepped(base) }
    guard var record = start else { return nil }
    func go(_ number: VersionNumber?) throws(ControlError) {
      guard let next = try translating({ try version(number) }) else {
        throw ControlError(.notFound, "\(record.name) has no such predecessor: \(word)")
      }
      record = next
    }
    if word[mark] == "^" {
      if count > 0 { try go(count == 1 ? record.first : count == 2 ? record.second : nil) }
    } else {
      for _ in 0..<count { try go(record.first) }
    }
    return record
  }

  /// Nil for a text that is no time, for example one with steps after it.
  private func version(at time: String) throws(ControlError) -> VersionRecord? {
    guard let instant = TimeExpression(now: TimestampText.now()).instant(time) else { return nil }
    let found = try translating { try version(shownAt: instant, head: state().head) }
    if let found { return found }
    let first = try translating { try firstKept() }
    guard let first else { throw ControlError(.notFound, "there is no version yet") }
    let made = Int64(((first.timestamp + 978_307_200) * 1e9).rounded())
    // The command line replaces a time by `@` and its seconds.
    let shown = time.hasPrefix("@") ? TimestampText.short(instant) : time
    let what =
      try translating { try forgottenVersions().isEmpty } ? "nothing" : "nothing that is kept"
    throw ControlError(
      .notFound,
      "\(what) was stored at \(shown) yet: the first version is of \(TimestampText.short(made)), \(first.name)"
    )
  }

  /// Returns a clause for a word `at/TIME`, also with steps or a path after it, if the version of that time is
  /// forgotten and an older one is taken; nil otherwise.
  package func noteOnTime(in word: String) throws(ControlError) -> String? {
    guard word.hasPrefix("at/"), try translating({ try !forgottenVersions().isEmpty }) else {
      return nil
    }
    let now = TimestampText.now()
    var time = word.dropFirst(3)
    while true {
      if let instant = TimeExpression(now: now).instant(String(time)) {
        return try translating { try note(onTime: instant) }
      }
      guard let mark = time.lastIndex(where: { ":~^".contains($0) }) else { return nil }
      time = time[..<mark]
    }
  }

  private func note(onTime instant: Int64) throws(StoreError) -> String? {
    let head = try state().head
    guard let shown = try forgottenVersion(shownAt: instant, head: head),
      let taken = try version(shownAt: instant, head: head)
    else { return nil }
    return
      "\(taken.name) is the newest version of that time that is kept: the bytes of \(shown.name) "
      + "\(try reasonForMissingBytes(of: shown))"
  }

  /// Returns the first kept version in the order of names.
  private func firstKept() throws(StoreError) -> VersionRecord? {
    let forgotten = try forgottenVersions()
    var last: String?
    while true {
      let page = try versions(afterName: last, limit: 256)
      if let found = page.first(where: { !forgotten.contains($0.number) }) { return found }
      guard let end = page.last else { return nil }
      last = end.name
    }
  }

  package func newestHead(ofLine line: String) throws(ControlError) -> VersionRecord? {
    guard !line.hasPrefix("llvs.") else { return nil }
    return try translating {
      guard try !headNumbers(ofLine: line).isEmpty else { return nil }
      let branch = line == VersionRecord.unnamedLine ? nil : Branch(rawValue: line)
      let heads = try graph.uncontainedHeads(ofLine: branch)
      guard let newest = heads.max(by: HistoryNode.isOlder) else { return nil }
      return try version(newest.number)
    }
  }

  private static let tagPrefix = "llvs.tag/"

  package func lineNames() throws(StoreError) -> (branches: [String], tags: [String]) {
    var (branches, tags): ([String], [String]) = ([], [])
    for line in try all(lines(after:limit:)) {
      if line.hasPrefix(Self.tagPrefix) {
        let tag = String(line.dropFirst(Self.tagPrefix.count))
        if try version(tagged: tag) != nil { tags.append(tag) }
      } else if !line.hasPrefix("llvs."), try hasOpenHead(line) {
        branches.append(line)
      }
    }
    return (branches, tags)
  }

  /// Returns the names of all pages.
  func all(
    _ page: (_ last: String?, _ limit: Int) throws(StoreError) -> [String]
  ) throws(StoreError) -> [String] {
    var names: [String] = []
    while true {
      let next = try page(names.last, 512)
      if next.isEmpty { return names }
      names += next
    }
  }

  /// True if a line has a head at which its name was not removed.
  package func hasOpenHead(_ line: String) throws(StoreError) -> Bool {
    if line == VersionRecord.unnamedLine { return true }
    return try !graph.openHeads(ofLine: Branch(rawValue: line)).isEmpty
  }

  /// Returns up to three names, similar to a word, of lines, tags and the newest versions.
  /// - Complexity: O(lines and tags).
  package func nearestNames(to word: String) throws(ControlError) -> [String] {
    let word = Array(word.utf8.prefix(64))
    let names = try translating { () throws(StoreError) -> [String] in
      let lines = try lineNames()
      var names = ["head"] + lines.branches + lines.tags
      for record in try keptVersionsNewestFirst(before: nil, limit: 1000) {
        names.append(record.name)
        names.append(String(record.id.rawValue.prefix(8)))
      }
      return names
    }
    let bound = max(1, word.count / 3)
    var near: [(distance: Int, name: String)] = []
    for name in names where name != VersionRecord.unnamedLine {
      let distance = SpellingDistance.between(word, Array(name.utf8.prefix(64)), atMost: bound)
      guard let distance, !near.contains(where: { $0.name == name }) else { continue }
      near.append((distance, name))
    }
    // Of equally similar names lines come before versions, and newer versions before older ones.
    return near.enumerated().sorted {
      ($0.element.distance, $0.offset) < ($1.element.distance, $1.offset)
    }.prefix(3).map(\.element.name)
  }
}

package enum SpellingDistance {
  /// Counts insertions, removals and replacements of bytes, ignoring case; nil beyond a bound.
  /// - Complexity: O(product of the lengths).
  package static func between(_ a: [UInt8], _ b: [UInt8], atMost bound: Int) -> Int? {
    guard abs(a.count - b.count) <= bound else { return nil }
    func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
    var row = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, y) in b.enumerated() {
        let above = row[j + 1]
        row[j + 1] = min(
          min(above, row[j]) + 1, diagonal + (lowered(x) == lowered(y) ? 0 : 1))
        diagonal = above
      }
    }
    return row[b.count] <= bound ? row[b.count] : nil
  }
}
