import LLVSCore
import TreeNames

/// A summary of what a cut took: numbers and first names.
package struct CutSummary: Hashable, Sendable {
  /// The number of names with other values or attributes.
  package private(set) var changed = 0
  package private(set) var new = 0
  package private(set) var removed = 0
  /// A few of the paths, as people read them.
  private var values: [String] = []
  /// The same for directories, with a trailing slash.
  private var directories: [String] = []
  private static let mostNames = 5
  package init() {}

  /// `edits` are in ascending order.
  init(of edits: SortedEdits, on base: ValueMap) throws(StoreError) {
    // Neighbours are in one node.
    var cursor = MapCursor(base)
    for edit in edits {
      try cursor.seek(to: edit.key.bytes, directory: edit.isDirectory)
      let old = try cursor.entry(at: edit.key, directory: edit.isDirectory)
      switch edit {
      case .put(let entry):
        if let old, old.hasSameContent(as: entry) { continue }
        if old == nil { new += 1 } else { changed += 1 }
      case .remove:
        guard old != nil else { continue }
        removed += 1
      }
      note(edit)
    }
  }

  private mutating func note(_ edit: MapEdit) {
    guard (edit.isDirectory ? directories : values).count < Self.mostNames else { return }
    let path = PrintableText.text(TreeView.ownPath(edit.key))
    if edit.isDirectory { directories.append(path + "/") } else { values.append(path) }
  }

  /// The first changed files, then directories, which mostly come with their content.
  package var names: [String] { Array((values + directories).prefix(Self.mostNames)) }
  package var count: Int { changed + new + removed }

  mutating func add(_ other: CutSummary) {
    changed += other.changed
    new += other.new
    removed += other.removed
    values += other.values.prefix(Self.mostNames - values.count)
    directories += other.directories.prefix(Self.mostNames - directories.count)
  }

  /// For example `3 changed, 1 new: notes/a, notes/b ...`.
  package var text: String {
    Self.text(changed: changed, new: new, removed: removed, names) ?? "nothing changed"
  }

  package static func text(changed: Int, new: Int, removed: Int, _ names: [String]) -> String? {
    let counts = [(changed, "changed"), (new, "new"), (removed, "removed")].filter { $0.0 > 0 }
    guard !counts.isEmpty else { return nil }
    return counts.map { "\($0.0) \($0.1)" }.joined(separator: ", ") + ": "
      + names.joined(separator: ", ") + (changed + new + removed > names.count ? " ..." : "")
  }
}
