package import LLVSCore
package import TreeNames

/// The paths at which two versions differ, at and below given paths or anywhere, by path and then by key.
/// - Concurrency: a value for one thread at a time.
/// - Complexity: O(*k* log *n*) for *k* changes there, in O(log *n*) memory.
package struct TreeDiff {
  private let old: TreeView
  private let new: TreeView
  /// The ranges to compare: a path, and the prefix of its keys.
  private var open: [(path: [UInt8], prefix: [UInt8], isEscaped: Bool)]
  private var path: [UInt8] = []
  private var isEscapedRange = false
  private var diff: MapDiff?

  /// Covers the whole tree if there are no paths or the root is among them.
  package init(from old: TreeView, to new: TreeView, paths: [[UInt8]] = []) throws(StoreError) {
    self.old = old
    self.new = new
    open = []
    var wanted: [[UInt8]] = []
    for path in paths.sorted(by: { $0.lexicographicallyPrecedes($1) })
    where !wanted.contains(where: { PathFilter.isAtOrBelow(path, $0) }) {
      wanted.append(path)
    }
    if wanted.isEmpty || wanted == [[]] {
      open = [([], [], false)]
      return
    }
    var hasEscaped = try old.hasEscaped()
    if !hasEscaped { hasEscaped = try new.hasEscaped() }
    for path in wanted.reversed() {
      // The keys of this path in escaped form are another range of the map.
      if hasEscaped { open.append((path, TreeView.escapedPrefix(path), true)) }
      open.append((path, path, false))
    }
  }

  package mutating func next() throws(StoreError) -> (path: [UInt8], change: MapChange)? {
    while true {
      guard let change = try diff?.next() else {
        guard let next = open.popLast() else { return nil }
        path = next.path
        isEscapedRange = next.isEscaped
        diff = try MapDiff(from: old.map, to: new.map, prefix: next.prefix, comparing: .content)
        continue
      }
      // A path that is also the form of an escaped key is in both ranges.
      let key = change.key
      if isEscapedRange, TreeView.ownPath(key) == key.bytes { continue }
      let shown = try (change.new == nil ? old : new).path(of: key)
      guard PathFilter.isAtOrBelow(shown, path) else { continue }
      return (shown, change)
    }
  }
}

/// The paths below a directory at which two versions differ, in order of key, one at a time.
struct SnapshotChanges {
  private let path: [UInt8]
  private var diff: TreeDiff

  init(from old: TreeView, to new: TreeView, below path: [UInt8]) throws(StoreError) {
    self.path = path
    diff = try TreeDiff(from: old, to: new, paths: [path])
  }

  mutating func next() throws(StoreError) -> (mark: UInt8, path: [UInt8])? {
    while let (shown, change) = try diff.next() {
      guard path.isEmpty || shown.count > path.count else { continue }
      var path = Array(path.isEmpty ? shown[...] : shown.dropFirst(path.count + 1))
      if change.isDirectory { path.append(0x2F) }
      let mark =
        change.old == nil
        ? ChangeText.added : change.new == nil ? ChangeText.removed : ChangeText.changed
      return (mark, path)
    }
    return nil
  }
}
