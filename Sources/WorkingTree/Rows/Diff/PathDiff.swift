import Inodes
package import LLVSCore
package import TreeNames

/// The paths at which the trees of two maps differ.
///
/// One key can change other paths: directories without an entry come and go with their contents, a value loses its
/// name to a directory or gets it back, and a file can take the escaped name of such a value.
///
/// Steps are ordered so that a tree can be changed one by one: first removals, a directory after its contents; then
/// additions and changes, a directory before its contents. A path that changes between value and directory is
/// removed first and added later. So is a changed value with a link id, because all names of a file must be removed
/// before the first new one shows which file it is.
///
/// - Complexity: O(*k* log *n*) time for *k* changed keys and values that lose or regain their names; memory for
///   the paths that differ, and for a limited number of entries.
/// - Concurrency: a value for one thread at a time.
package struct PathDiff {
  package enum Step: Hashable, Sendable {
    /// An entry of the first tree is removed, before additions.
    case gone(PathChange)
    /// An entry of the second tree is added; the path is free by now.
    case come(PathChange)
    /// Both trees show a value, or both a directory, and they differ.
    case changed(PathChange)
  }

  private enum Phase {
    case going(Int)
    case coming(Int)
  }

  private let before: TreeView
  private let after: TreeView
  private let paths: [DifferentPath]
  private var phase: Phase
  /// Positions that advance with the added paths.
  private var cursorBefore: MapCursor
  private var cursorAfter: MapCursor

  /// Finds the paths; the maps must be of one store. Throws ``StoreError/corrupt(_:)`` for a damaged node of a map.
  package init(from before: TreeView, to after: TreeView) throws(StoreError) {
    try self.init(from: before, to: after, keeping: PathSearch.keptChanges)
  }

  /// Finds the paths, and keeps the entries of at most `limit`.
  init(from before: TreeView, to after: TreeView, keeping limit: Int) throws(StoreError) {
    self.before = before
    self.after = after
    var search = PathSearch(before: before, after: after, keeping: limit)
    try search.run()
    paths = search.sortedPaths()
    cursorBefore = MapCursor(before.map)
    cursorAfter = MapCursor(after.map)
    phase = .going(paths.count)
  }

  package var count: Int { paths.count }

  package mutating func next() throws(StoreError) -> Step? {
    while true {
      switch phase {
      case .going(0): phase = .coming(0)
      case .going(let index):
        phase = .going(index - 1)
        if let change = try goingChange(at: index - 1), change.goes { return .gone(change) }
      case .coming(let index):
        guard index < paths.count else { return nil }
        phase = .coming(index + 1)
        guard let change = try comingChange(at: index), change.after != nil else { continue }
        return change.goes || change.before == nil ? .come(change) : .changed(change)
      }
    }
  }

  /// Returns a change that may remove something.
  private func goingChange(at index: Int) throws(StoreError) -> PathChange? {
    let found = paths[index]
    switch found.kind {
    case .newValue, .bothValues: return nil
    case .any, .oldValue: break
    }
    if let kept = found.kept { return kept.change }
    guard found.kind == .oldValue else {
      return try PathSearch.change(at: found.path, from: before, to: after)
    }
    let entry = try before.map.entry(at: Key(bytes: found.path.bytes))
    return PathChange(path: found.path, before: entry.map { .value($0) })
  }

  /// Returns a change that may add something.
  private mutating func comingChange(at index: Int) throws(StoreError) -> PathChange? {
    let found = paths[index]
    guard found.kind != .oldValue else { return nil }
    if let kept = found.kept { return kept.change }
    guard found.kind != .any else {
      return try PathSearch.change(at: found.path, from: before, to: after)
    }
    let key = Key(bytes: found.path.bytes)
    var change = PathChange(path: found.path)
    if found.kind == .bothValues {
      try cursorBefore.seek(to: key.bytes)
      change.before = try cursorBefore.entry(at: key, directory: false).map { .value($0) }
    }
    try cursorAfter.seek(to: key.bytes)
    change.after = try cursorAfter.entry(at: key, directory: false).map { .value($0) }
    return change
  }
}

extension PathChange {
  /// True if the first tree's entry must be removed before the second's is added.
  fileprivate var goes: Bool {
    guard let before else { return false }
    if case .value(let entry) = before, entry.attributes.linkID != nil { return true }
    return after.map { $0.isDirectory != before.isDirectory } ?? true
  }
}
