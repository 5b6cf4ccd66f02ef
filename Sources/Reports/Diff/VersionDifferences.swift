import HistoryTree
package import LLVSCore
import TreeNames

/// The differences between two versions, at and below given paths or anywhere, one at a time.
package struct VersionDifferences {
  private let store: Store
  private let old: TreeView
  private let new: TreeView
  private let paths: [[UInt8]]
  /// The renames by their new key; below, the old keys of all renames.
  private var renames: [Key: Rename] = [:]
  private var left: Set<Key> = []
  private var directories: DirectoryRenames?

  package init(
    _ store: Store, from old: MapRoot, to new: MapRoot, paths: [[UInt8]] = [],
    findingRenames: Bool = false
  ) throws {
    self.store = store
    self.old = TreeView(map: store.map(old))
    self.new = TreeView(map: store.map(new))
    self.paths = paths
    guard findingRenames, try Rename.arePossible(from: self.old.map, to: self.new.map) else {
      return
    }
    let found = try DirectoryRenames(from: self.old, to: self.new)
    directories = found
    for rename in try ValueMap.renames(from: self.old.map, to: self.new.map) + found.files {
      // A rename between the shown paths and others is shown as a removal or an addition.
      guard try isShown(rename.old.key, self.old), try isShown(rename.new.key, self.new) else {
        continue
      }
      renames[rename.new.key] = rename
      left.insert(rename.old.key)
    }
  }

  private func isShown(_ key: Key, _ view: TreeView) throws -> Bool {
    guard !paths.isEmpty else { return true }
    let path = try view.path(of: key)
    return paths.contains { PathFilter.isAtOrBelow(path, $0) }
  }

  /// Returns the entry that a file had in a predecessor, under its own or another name.
  package static func former(
    _ entry: Entry, in old: ValueMap, of new: ValueMap
  ) throws(StoreError) -> Entry? {
    if let same = try old.entry(at: entry.key) { return same }
    guard try Rename.arePossible(from: old, to: new) else { return nil }
    return try ValueMap.renames(from: old, to: new).first { $0.new.key == entry.key }?.old
  }

  /// - Complexity: O(*k* log *n*) for *k* changes, besides the work of `body`.
  package func forEach(_ body: (TreeDifference) throws -> Void) throws {
    var diff = try TreeDiff(from: old, to: new, paths: paths)
    while let (path, change) = try diff.next() {
      var difference = TreeDifference(
        path: path, old: change.old.map { FileImage($0, in: store) },
        new: change.new.map { FileImage($0, in: store) })
      if change.isDirectory, change.old == nil || change.new == nil {
        difference.isFull = try (change.old == nil ? new : old).hasChildren(path)
      }
      if change.new == nil, left.contains(change.key), !change.isDirectory { continue }
      if change.old == nil, !change.isDirectory, let rename = renames[change.key] {
        difference.renamedFrom = try old.path(of: rename.old.key)
        difference.old = FileImage(rename.old, in: store)
        difference.directory = directories?[file: change.key]
      }
      try body(difference)
    }
  }
}
