import LLVS

/// A head's map on its way under the live tree.
enum LiveMap {
  /// The map to show for a head, in which names that the tree shows already keep their inode numbers,
  /// and what differs from what the tree shows, parents before children.
  ///
  /// - Complexity: O(*k* log *n*) for *k* differences.
  static func adopt(
    _ target: ValueMap, from shown: ValueMap, writingTo nodes: any NodeStorage
  ) throws(StoreError) -> (ValueMap, [ForeignChange]) {
    var patches: [MapEdit] = []
    var foreign: [ForeignChange] = []
    let before = TreeView(map: shown)
    let after = TreeView(map: target)
    var diff = try MapDiff(from: shown, to: target)
    while let change = try diff.next() {
      var new = change.new
      if let old = change.old, var entry = new, old.inode != 0, entry.inode != old.inode {
        entry.inode = old.inode
        patches.append(.put(entry))
        new = entry
      }
      if let old = change.old, let new, old.hasSameContent(as: new) { continue }
      let path = try (new == nil ? before : after).path(of: change.key)
      foreign.append(ForeignChange(path: path, old: change.old, new: new))
    }
    guard !patches.isEmpty else { return (target, foreign) }
    let patched = try ValueMap(root: target.root, storage: nodes, cache: target.cache)
      .applying(edits: patches)
    return (patched, foreign)
  }
}
