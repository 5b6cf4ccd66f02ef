/// Numbers the lines of texts; equal lines of all texts have equal numbers.
package struct LineTable {
  private var known: [ArraySlice<UInt8>: Int32] = [:]

  package init() {}

  /// The lines of a text; each is its bytes with its end.
  package mutating func lines(_ text: [UInt8]) -> TextLines {
    var ids: [Int32] = []
    var starts = [0]
    var start = 0
    while start < text.count {
      let end = text[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? text.count
      let line = text[start..<end]
      let id = known[line] ?? Int32(known.count)
      known[line] = id
      ids.append(id)
      starts.append(end)
      start = end
    }
    return TextLines(text: text, ids: ids, starts: starts)
  }
}

package struct TextLines: Sendable {
  package let text: [UInt8]
  /// The number of each line; see ``LineTable``.
  let ids: [Int32]
  /// The offset of each line, and the end of the last.
  let starts: [Int]

  package var count: Int { ids.count }

  /// The bytes of some lines, line ends included.
  package func bytes(_ lines: Range<Int>) -> ArraySlice<UInt8> {
    text[starts[lines.lowerBound]..<starts[lines.upperBound]]
  }

  package subscript(line: Int) -> ArraySlice<UInt8> { bytes(line..<(line + 1)) }

  func lines(_ runs: [Range<Int>]) -> TextLines {
    var (text, ids, starts): ([UInt8], [Int32], [Int]) = ([], [], [0])
    for line in runs.joined() {
      text += self[line]
      ids.append(self.ids[line])
      starts.append(text.count)
    }
    return TextLines(text: text, ids: ids, starts: starts)
  }
}
