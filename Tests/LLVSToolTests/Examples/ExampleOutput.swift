/// Compares what a command printed with what a page says that it prints.
enum ExampleOutput {
  /// Replaces what is another at each run, names of versions and times, by a word for its kind.
  static func normalized(_ line: String) -> String {
    var line = line
    line.replace(#/\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z-[0-9A-F]{8}/#, with: "VERSION")
    line.replace(#/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?/#, with: "TIME")
    line.replace(#/\d{4}-\d\d-\d\d/#, with: "DATE")
    line.replace(#/\b\d\d:\d\d(:\d\d)?\b/#, with: "TIME")
    line.replace(#/\b[0-9A-F]{8}\b/#, with: "ID")
    while line.last == " " { line.removeLast() }
    return line
  }

  /// Returns true if the lines are what the page says; complexity O(*n* · *m*) lines.
  static func matches(_ printed: [String], _ expected: [String]) -> Bool {
    var expected = expected[...]
    var printed = printed[...]
    while let line = expected.popFirst() {
      if line == "..." {
        guard !expected.isEmpty else { return true }
        return printed.indices.contains { matches(Array(printed[$0...]), Array(expected)) }
      }
      guard let next = printed.popFirst(), matches(normalized(next), normalized(line)) else {
        return false
      }
    }
    return printed.isEmpty
  }

  /// Returns true if a line is the pattern, in which `…` stands for anything.
  static func matches(_ line: String, _ pattern: String) -> Bool {
    let parts = pattern.split(separator: "…", omittingEmptySubsequences: false)
    guard parts.count > 1 else { return line == pattern }
    guard line.count >= pattern.count - (parts.count - 1) else { return false }
    guard line.hasPrefix(parts[0]), line.hasSuffix(parts[parts.count - 1]) else { return false }
    var rest = line.dropFirst(parts[0].count).dropLast(parts[parts.count - 1].count)
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let found = rest.firstRange(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }
}
