/// Draws the graph of versions next to a list; in the list each version comes before its predecessors.
///
/// Columns are two characters apart. A column belongs to a later predecessor of versions above. Downwards, `|`
/// stays, `\` and `/` lead one column right or left, `_` continues a `/` leftwards.
/// - Complexity: O(columns) for each row; at most 1 + 2 × columns rows between two versions.
package struct LogGraph<ID: Hashable> {
  /// The drawing next to one version.
  package struct Step {
    /// A row before it, if its mark would otherwise be right below a version whose column has ended.
    package var before: String?
    /// The drawing next to its first line, with the mark.
    package var node: String
    /// Rows that lead to the next version, next to further lines of text or alone.
    package var after: [String]
    /// The drawing next to lines of text after those rows.
    package var padding: String
  }

  private var columns: [ID] = []
  /// The column that ended with the last version, if no row has shown this yet.
  private var ended: Int?
  package init() {}

  /// Draws a version; all its descendants were drawn before.
  package mutating func add(_ id: ID, predecessors: [ID]) -> Step {
    let standing = self.standing
    if !columns.contains(id) { columns.append(id) }
    let column = columns.firstIndex(of: id) ?? 0
    let before = column == ended ? standing : nil
    ended = nil
    var width = columns.count
    let node = columns.indices.map { $0 == column ? "*" : "|" }.joined(separator: " ")
    var rows: [String] = []
    let first = predecessors.first
    if let second = predecessors.dropFirst().first, let first, second != first {
      columns[column] = first
      split(column, to: second, &rows)
      width = columns.count
    } else if let first {
      columns[column] = first
    } else {
      remove(column, &rows)
    }
    collapse(&rows)
    if rows.isEmpty, predecessors.isEmpty { ended = column }
    func padded(_ row: String) -> String {
      row + String(repeating: " ", count: max(0, 2 * width - 1 - row.count))
    }
    return Step(
      before: before, node: padded(node), after: rows.map(padded), padding: padded(self.standing))
  }

  /// Redirects the column of an unshown version to its predecessors, or ends it; returns the rows.
  package mutating func skip(_ id: ID, to next: [ID]) -> [String] {
    guard let column = columns.firstIndex(of: id) else { return [] }
    var rows: [String] = []
    ended = nil
    if let first = next.first {
      columns[column] = first
      if let second = next.dropFirst().first, second != first { split(column, to: second, &rows) }
    } else {
      remove(column, &rows)
    }
    collapse(&rows)
    return rows
  }

  private var standing: String { columns.map { _ in "|" }.joined(separator: " ") }

  /// Adds a column for a second predecessor; the columns to its right move right.
  private mutating func split(_ column: Int, to second: ID, _ rows: inout [String]) {
    var row = Row(columns.count)
    for index in columns.indices {
      if index <= column { row.set(2 * index, "|") }
      if index >= column { row.set(2 * index + 1, "\\") }
    }
    rows.append(row.text)
    columns.insert(second, at: column + 1)
  }

  /// Ends a column; the columns to its right move left.
  private mutating func remove(_ column: Int, _ rows: inout [String]) {
    if column + 1 < columns.count {
      var row = Row(columns.count)
      for index in columns.indices where index != column {
        if index < column { row.set(2 * index, "|") } else { row.set(2 * index - 1, "/") }
      }
      rows.append(row.text)
    }
    columns.remove(at: column)
  }

  private mutating func collapse(_ rows: inout [String]) {
    while let (left, right) = pair() {
      var row = Row(columns.count)
      for index in columns.indices {
        if index < right { row.set(2 * index, "|") } else { row.set(2 * index - 1, "/") }
      }
      if right - left >= 3 {
        for place in stride(from: 2 * left + 3, through: 2 * right - 3, by: 2) {
          row.set(place, "_")
        }
      }
      rows.append(row.text)
      columns.remove(at: right)
      if right - left >= 2 {
        var end = Row(columns.count)
        for index in columns.indices { end.set(2 * index, "|") }
        end.set(2 * left + 1, "/")
        rows.append(end.text)
      }
    }
  }

  private func pair() -> (left: Int, right: Int)? {
    var seen: [ID: Int] = [:]
    for (index, id) in columns.enumerated() {
      if let left = seen[id] { return (left, index) }
      seen[id] = index
    }
    return nil
  }

  private struct Row {
    private var characters: [Character]

    init(_ columns: Int) { characters = [Character](repeating: " ", count: 2 * columns + 2) }

    mutating func set(_ index: Int, _ character: Character) { characters[index] = character }

    var text: String {
      var end = characters.count
      while end > 0, characters[end - 1] == " " { end -= 1 }
      return String(characters[..<end])
    }
  }
}
