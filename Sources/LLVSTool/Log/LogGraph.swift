/// Draws how versions came of each other, beside a list that has none before its descendants.
///
/// Columns stand two characters apart. A column belongs to a version that is still to come and that one
/// or more versions above were made from. Read downwards, `|` stays in its column, `\` leads one column to
/// the right, `/` one to the left, and `_` goes on to the left from a `/`, crossing columns that stay.
///
/// - Complexity: O(columns) for each row; at most 1 + 2 × columns rows between two versions.
package struct LogGraph<ID: Hashable> {
  /// What stands beside a version.
  package struct Step {
    /// A row before it, where its mark would stand right below one that nothing leads on from.
    package var before: String?
    /// Beside its first line, with the mark.
    package var node: String
    /// Rows that lead to what comes next, beside further lines or alone.
    package var after: [String]
    /// Beside lines that are left when those rows are used up.
    package var padding: String
  }

  private var columns: [ID] = []
  /// The column that ended with the version drawn last, if no row has shown so yet.
  private var ended: Int?

  package init() {}

  /// Draws a version whose descendants have all been drawn.
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
      var row = Row(columns.count)
      for index in columns.indices {
        if index <= column { row.set(2 * index, "|") }
        if index >= column { row.set(2 * index + 1, "\\") }
      }
      rows.append(row.text)
      columns.insert(second, at: column + 1)
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

  /// Lets what leads to a version that is not shown lead to another, or nowhere.
  ///
  /// - Returns: rows to be drawn.
  package mutating func skip(_ id: ID, to next: ID?) -> [String] {
    guard let column = columns.firstIndex(of: id) else { return [] }
    var rows: [String] = []
    ended = nil
    if let next { columns[column] = next } else { remove(column, &rows) }
    collapse(&rows)
    return rows
  }

  private var standing: String { columns.map { _ in "|" }.joined(separator: " ") }

  /// Ends a column; those to the right of it move.
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

  /// Joins columns that lead to the same version.
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
