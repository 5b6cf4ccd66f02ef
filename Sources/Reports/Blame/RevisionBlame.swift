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
      let changes = TextDiff.changes(from: old, to: new)
      var left: [(final: Int, line: Int)] = []
      var next = 0
      var shift = 0
      for pair in open {
        while next < changes.count, changes[next].new.upperBound <= pair.line {
          shift = changes[next].old.upperBound - changes[next].new.upperBound
          next += 1
        }
        if next < changes.count, changes[next].new.contains(pair.line) {
          found[pair.final] = index + 1
        } else {
          left.append((pair.final, pair.line + shift))
        }
      }
      (open, new) = (left, old)
    }
    return zip(found, lines).map { ($0, $1) }
  }
}
