package import LLVSCore
import TreeNames
import WorkingTree

/// What a version changed: numbers, first names, and renamed directories.
package struct ChangeSummary {
  package private(set) var new = 0
  package private(set) var changed = 0
  package private(set) var removed = 0
  /// Their files and directories are in the three numbers too.
  package private(set) var renames: [DirectoryRenames.Item] = []
  /// The numbers without what is in renamed directories.
  private var rest = (new: 0, changed: 0, removed: 0)
  /// The first few paths of files; if there are fewer, of directories too.
  private var names: [String] = []

  private static let namesShown = 3

  /// - Complexity: O(*k* log *n*) for *k* changes.
  package init(of record: VersionRecord, in store: Store) throws(StoreError) {
    let (old, new) = (
      TreeView(map: store.map(of: try store.version(record.first))),
      TreeView(map: store.map(of: record))
    )
    try count(from: old, to: new)
    guard self.new > 0, removed > 0 else { return }
    let found = try DirectoryRenames(from: old, to: new)
    guard !found.items.isEmpty else { return }
    let all = (self.new, removed)
    (self.new, changed, removed, names) = (0, 0, 0, [])
    try count(from: old, to: new, without: found)
    rest = (self.new, changed, removed)
    (self.new, removed, renames) = (all.0, all.1, found.items)
  }

  private mutating func count(
    from old: TreeView, to new: TreeView, without renames: DirectoryRenames? = nil
  ) throws(StoreError) {
    var directories: [String] = []
    var diff = try MapDiff(from: old.map, to: new.map, comparing: .content)
    while let change = try diff.next() {
      if let renames, renames.contains(change) { continue }
      if (change.isDirectory ? directories : names).count < Self.namesShown {
        let path = PrintableText.text(
          try (change.new == nil ? old : new).path(of: change.key))
        if change.isDirectory { directories.append(path + "/") } else { names.append(path) }
      }
      if change.old == nil {
        self.new += 1
      } else if change.new == nil {
        removed += 1
      } else {
        changed += 1
      }
    }
    // Most directories contain new files too, so files are named first.
    names += directories.prefix(Self.namesShown - names.count)
    rest = (self.new, changed, removed)
  }

  /// Describes a version with renamed directories; one without, or that cannot be read, by `other`.
  package static func text(of record: VersionRecord?, in store: Store, or other: String) -> String {
    guard let record, let summary = try? ChangeSummary(of: record, in: store),
      !summary.renames.isEmpty
    else { return other }
    return summary.text
  }

  /// For example `renamed photos/ to pictures/ (30 files); 2 changed, 1 new: a, b, c`.
  package var text: String {
    let others = CutSummary.text(changed: rest.changed, new: rest.new, removed: rest.removed, names)
    let parts = renames.map(\.text) + [others].compactMap(\.self)
    return parts.isEmpty ? "nothing changed" : parts.joined(separator: "; ")
  }
}
