import HistoryTree
import LLVSCore
import TreeNames

/// A line with a bar for each file, and a line with the totals, as git prints them.
/// Names and counts are aligned by the first ``held`` files; the lines of later files are printed at once.
package struct DiffStat {
  private static let held = 2000

  private struct Row {
    var name: String
    var counts: LineCounts
    /// The changes of a file whose bytes are equal; nil if they differ.
    var note: String?
    var lengths: (old: UInt64, new: UInt64)

    var lines: Int {
      if case .lines(let added, let removed) = counts { return added + removed }
      return 0
    }
  }

  private let style: TextStyle
  private let columns: Int
  private let indent: String
  private let emit: (String) -> Void
  private var rows: [Row] = []
  private var widths: (name: Int, count: Int, bar: Int, most: Int)?
  private var files = 0
  private var added = 0
  private var removed = 0
  private var directories: Set<DirectoryRenames.Item> = []

  package init(
    style: TextStyle, columns: Int, indent: String = "", emit: @escaping (String) -> Void
  ) {
    self.style = style
    self.columns = columns
    self.indent = indent
    self.emit = emit
  }

  /// `lacksBytes` is true if the bytes of a side are forgotten.
  package mutating func add(_ difference: TreeDifference, lacksBytes: Bool = false) throws {
    // A directory that was added or removed with its contents needs no line.
    guard !difference.isFull else { return }
    let isOfBytes = (difference.new ?? difference.old)?.hasBytes ?? false
    let counts =
      lacksBytes
      ? .forgotten
      : isOfBytes
        ? try ContentPair(difference.old, difference.new).counts : .lines(added: 0, removed: 0)
    let note = Self.note(difference, counts)
    guard isOfBytes || note != nil else { return }
    files += 1
    if let directory = difference.directory, note == nil, case .lines(0, 0) = counts {
      // One line for all files of a renamed directory that did not change.
      guard directories.insert(directory).inserted else { return }
      return add(
        Row(
          name: directory.arrow, counts: counts,
          note: PrintableText.count(directory.files, "file"), lengths: (0, 0)))
    }
    if case .lines(let more, let fewer) = counts {
      added += more
      removed += fewer
    }
    let row = Row(
      name: difference.shownPath, counts: counts, note: note,
      lengths: (difference.old?.length ?? 0, difference.new?.length ?? 0))
    add(row)
  }

  private mutating func add(_ row: Row) {
    if widths != nil {
      write(row)
    } else {
      rows.append(row)
      if rows.count == Self.held { release() }
    }
  }

  /// Describes the changes of a file without changed lines; nil if bytes changed, or nothing is recorded.
  private static func note(_ difference: TreeDifference, _ counts: LineCounts) -> String? {
    guard case .lines(0, 0) = counts else { return nil }
    let (old, new) = (difference.old, difference.new)
    guard let old, let new else {
      let isDirectory = (new ?? old)?.isDirectory ?? false
      let isRegular = (new ?? old)?.kind == .regular
      let noun = isDirectory ? "directory" : isRegular ? "empty file" : "special file"
      return new == nil ? "removed \(noun)" : "new \(noun)"
    }
    if old.kind != new.kind { return "another kind of file" }
    var notes: [String] = []
    if old.mode != new.mode {
      notes.append("mode \(String(old.mode, radix: 8)) -> \(String(new.mode, radix: 8))")
    }
    notes += AttributeChanges.lines(old, new, isRenamed: difference.renamedFrom != nil)
    return notes.isEmpty ? nil : notes.joined(separator: "; ")
  }

  /// Writes the held lines and the line with the totals.
  package mutating func finish() {
    release()
    guard files > 0 else { return }
    var text = " \(PrintableText.count(files, "file")) changed"
    if added > 0 || removed == 0 { text += ", \(PrintableText.count(added, "insertion"))(+)" }
    if removed > 0 || added == 0 { text += ", \(PrintableText.count(removed, "deletion"))(-)" }
    emit(indent + text)
  }

  private mutating func release() {
    guard widths == nil else { return }
    let most = rows.map(\.lines).max() ?? 0
    let count = max(
      String(most).count,
      rows.contains { if case .binary = $0.counts { true } else { false } } ? 3 : 1)
    // At least a fifth of the line is left for the bar.
    let room = columns - indent.count - count - 6
    let name = min(rows.map(\.name.count).max() ?? 0, max(20, room - room / 5))
    widths = (name, count, max(5, room - name), most)
    for row in rows { write(row) }
    rows = []
  }

  private func write(_ row: Row) {
    guard let widths else { return }
    var name = row.name
    // The end of a long path is more useful than its beginning.
    if name.count > widths.name { name = "..." + name.suffix(widths.name - 3) }
    name += String(repeating: " ", count: max(0, widths.name - name.count))
    if let note = row.note { return emit("\(indent) \(name) | \(note)") }
    switch row.counts {
    case .forgotten: emit("\(indent) \(name) | bytes are forgotten")
    case .binary:
      let gap = String(repeating: " ", count: max(0, widths.count - 3))
      emit(
        "\(indent) \(name) | \(gap)Bin \(row.lengths.old) -> \(row.lengths.new) bytes")
    case .lines(let added, let removed):
      let total = String(added + removed)
      let gap = String(repeating: " ", count: max(0, widths.count - total.count))
      let (plus, minus) = bar(added, removed, widths.bar, max(widths.most, added + removed))
      let bar =
        style.paint(String(repeating: "+", count: plus), .green)
        + style.paint(String(repeating: "-", count: minus), .red)
      emit("\(indent) \(name) | \(gap)\(total)\(bar.isEmpty ? "" : " ")\(bar)")
    }
  }

  /// Returns the lengths of the two parts of a bar: at least one for a count that is not zero.
  private func bar(_ added: Int, _ removed: Int, _ width: Int, _ most: Int) -> (Int, Int) {
    guard most > width else { return (added, removed) }
    func scaled(_ count: Int) -> Int { count == 0 ? 0 : 1 + count * (width - 2) / most }
    return (scaled(added), scaled(removed))
  }
}
