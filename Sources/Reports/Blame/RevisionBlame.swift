import LLVSCore

/// Finds the revision that introduced each line of a file, among successive revisions.
package enum RevisionBlame {
  /// Returns the lines of the last text, each with the index, oldest first, of the text that introduced it.
  /// - Complexity: a comparison of two texts for each revision.
  package static func lines(of revisions: [[UInt8]]) -> [(revision: Int, text: [UInt8])] {
    var table = LineTable()
    guard let newest = revisions.last else { return [] }
    var new = table.lines(newest)
    let lines = (0..<new.count).map { Array(new[$0]) }
    var found = [Int](repeating: 0, count: lines.count)
    // The lines still to be found: their index, and their position in the revision.
    var open = lines.indices.map { (final: $0, line: $0) }
    for index in revisions.indices.dropLast().reversed() where !open.isEmpty {
      let old = table.lines(revisions[index])
      let places = TextDiff.oldLines(of: open.map(\.line), TextDiff.changes(from: old, to: new))
      var left: [(final: Int, line: Int)] = []
      for (pair, place) in zip(open, places) {
        if let place { left.append((pair.final, place)) } else { found[pair.final] = index + 1 }
      }
      (open, new) = (left, old)
    }
    return zip(found, lines).map { ($0, $1) }
  }
}

extension TextDiff {
  /// Returns the place of each line, ascending, in the old text; nil for a changed line.
  static func oldLines(of lines: [Int], _ changes: [SequenceChange]) -> [Int?] {
    var rest = changes[...]
    var shift = 0
    return lines.map { line in
      while let change = rest.first, change.new.upperBound <= line {
        shift = change.old.upperBound - change.new.upperBound
        rest.removeFirst()
      }
      return rest.first?.new.contains(line) == true ? nil : line + shift
    }
  }
}
