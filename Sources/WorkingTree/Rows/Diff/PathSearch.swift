import Inodes
import LLVSCore
import TreeNames

/// A change, in a class because a dictionary would move its many bytes.
final class KeptChange {
  let change: PathChange
  init(_ change: PathChange) { self.change = change }
}

struct DifferentPath {
  /// What is known of a change without its entries.
  enum Kind {
    /// The path must be looked up in both trees.
    case any
    /// Only the second tree has a value, whose key is the path.
    case newValue
    /// Only the first tree has a value, whose key is the path.
    case oldValue
    /// Both trees have a value whose key is the path, and the first tree's has no link id.
    case bothValues
  }

  let path: TreePath
  let kind: Kind
  /// Nil if the entries are looked up again.
  let kept: KeptChange?
}

/// Finds the paths at which the trees of two maps differ, in no order.
struct PathSearch {
  /// The most changes whose entries are kept; others are looked up again, so that a million paths take little
  /// memory.
  static let keptChanges = 20_000
  private let before: TreeView
  private let after: TreeView
  private var paths: [DifferentPath] = []
  private var known: [TreePath: KeptChange] = [:]
  private var keptCount = 0
  private let keptLimit: Int
  /// The directory above which all was checked with the last key.
  private var last: TreePath?
  /// The checked names that are like those of displaced values.
  private var seenNames: Set<TreePath> = []
  /// Positions that advance with the keys that differ.
  private var cursorBefore: MapCursor
  private var cursorAfter: MapCursor

  init(before: TreeView, after: TreeView, keeping limit: Int = keptChanges) {
    keptLimit = limit
    self.before = before
    self.after = after
    cursorBefore = MapCursor(before.map)
    cursorAfter = MapCursor(after.map)
  }

  /// The paths that differ, ascending, each once.
  consuming func sortedPaths() -> [DifferentPath] {
    var sorted = paths
    sorted.sort { $0.path < $1.path }
    var result: [DifferentPath] = []
    result.reserveCapacity(sorted.count)
    for path in sorted where path.path != result.last?.path { result.append(path) }
    return result
  }

  mutating func run() throws(StoreError) {
    // Trees of one map are equal even if it cannot be read.
    guard before.map.root != after.map.root else { return }
    let isEscapedBefore = try before.hasEscaped()
    let isEscaped = try isEscapedBefore ? true : after.hasEscaped()
    var diff = try MapDiff(from: before.map, to: after.map)
    while let change = try diff.next() {
      if let old = change.old, let new = change.new,
        TreeView.Found.value(old).isSame(as: .value(new))
      {
        continue
      }
      if !isEscaped, try takeAlone(change) { continue }
      try take(change)
    }
  }

  /// Takes a value that is certainly shown at its own path: neither map has another entry at its key or below it,
  /// so no directory and no displaced value is involved. Nearly all changes are of this kind.
  private mutating func takeAlone(_ change: MapChange) throws(StoreError) -> Bool {
    let key = change.key.bytes
    guard !change.isDirectory, !key.isEmpty, PathLimit.reach(of: key[...]) == key.count,
      try Self.isAlone(key, isThere: change.old != nil, &cursorBefore),
      try Self.isAlone(key, isThere: change.new != nil, &cursorAfter)
    else { return false }
    let path = TreePath(key)
    let kind: DifferentPath.Kind
    switch (change.old, change.new) {
    case (nil, _): kind = .newValue
    case (_, nil): kind = .oldValue
    case (let old?, _): kind = old.attributes.linkID == nil ? .bothValues : .any
    }
    let comesOrGoes = change.old == nil || change.new == nil
    // A file with the name of a displaced value makes that value take another.
    if comesOrGoes, path.name.bytes.starts(with: DisplacedName.prefix) { return false }
    take(
      PathChange(
        path: path, before: change.old.map { .value($0) }, after: change.new.map { .value($0) }),
      kind)
    if comesOrGoes { try lookAbove(path.parent) }
    return true
  }

  /// True if a map has nothing but the value at its key, and nothing below.
  private static func isAlone(
    _ key: [UInt8], isThere: Bool, _ cursor: inout MapCursor
  ) throws(StoreError) -> Bool {
    try cursor.seek(to: key)
    if isThere { try cursor.advance() }
    guard let next = byte(after: key, cursor) else { return true }
    // Keys below it follow those that continue with a lesser byte than the slash.
    guard next < 0x2F else { return next > 0x2F }
    try cursor.seek(to: key + [0x2F])
    return byte(after: key, cursor) != 0x2F
  }

  /// The byte after `key` in the key at a position; a slash if they are equal, nil if `key` is no prefix.
  private static func byte(after key: [UInt8], _ cursor: MapCursor) -> UInt8? {
    let next = cursor.withKey { (found) -> UInt8? in
      guard found.starts(with: key) else { return nil }
      return found.count == key.count ? 0x2F : found[key.count]
    }
    return next ?? nil
  }

  private mutating func take(_ change: PathChange, _ kind: DifferentPath.Kind) {
    paths.append(DifferentPath(path: change.path, kind: kind, kept: keep(change)))
  }

  private mutating func keep(_ change: PathChange) -> KeptChange? {
    guard keptCount < keptLimit, !Self.isLong(change.before), !Self.isLong(change.after)
    else { return nil }
    keptCount += 1
    return KeptChange(change)
  }

  /// True for long attributes: a few such entries take the memory of thousands.
  private static func isLong(_ found: TreeView.Found?) -> Bool {
    switch found {
    case .value(let entry)?, .directory(let entry?)?: entry.attributes.hasLongExtended
    case .directory(nil)?, nil: false
    }
  }

  private mutating func take(_ change: MapChange) throws(StoreError) {
    let own = TreeView.ownPath(change.key)
    let reach = PathLimit.reach(of: own[...])
    let isNameable = !own.isEmpty && reach == own.count
    let path = TreePath(own)
    let comesOrGoes = change.old == nil || change.new == nil
    if change.isDirectory {
      // A directory that cannot be named is not shown, and makes no directory above it.
      guard isNameable else { return }
      try look(at: path)
      if comesOrGoes { try lookAround(path) }
    } else if isNameable {
      let found = try look(at: path)
      try lookAtDisplaced(change, found)
      if comesOrGoes { try lookAround(path) }
    } else {
      try lookAtShown(change.key)
    }
    guard comesOrGoes else { return }
    let above = own[..<(isNameable ? own.lastIndex(of: 0x2F) ?? 0 : reach)]
    try lookAbove(TreePath(above))
  }

  private struct Both {
    var before: TreeView.Found?
    var after: TreeView.Found?
    var changesDirectory: Bool { (before?.isDirectory ?? false) != (after?.isDirectory ?? false) }
    var isDirectoryInBoth: Bool { (before?.isDirectory ?? false) && (after?.isDirectory ?? false) }
  }

  /// Compares the trees at a path, and takes the path if they differ.
  @discardableResult
  private mutating func look(at path: TreePath) throws(StoreError) -> Both {
    if let kept = known[path] {
      return Both(before: kept.change.before, after: kept.change.after)
    }
    let both = Both(
      before: try before.find(path: path.bytes), after: try after.find(path: path.bytes))
    guard Self.differs(both.before, both.after) else { return both }
    guard keptCount < keptLimit else {
      paths.append(DifferentPath(path: path, kind: .any, kept: nil))
      return both
    }
    let change = try Self.change(at: path, both.before, both.after, from: before, to: after)
    let kept = keep(change)
    if let kept { known[path] = kept }
    paths.append(DifferentPath(path: path, kind: .any, kept: kept))
    return both
  }

  private static func differs(_ a: TreeView.Found?, _ b: TreeView.Found?) -> Bool {
    switch (a, b) {
    case (nil, nil): false
    case (let a?, let b?): !a.isSame(as: b)
    default: true
    }
  }

  static func change(
    at path: TreePath, from before: TreeView, to after: TreeView
  ) throws(StoreError) -> PathChange? {
    let old = try before.find(path: path.bytes)
    let new = try after.find(path: path.bytes)
    guard differs(old, new) else { return nil }
    return try change(at: path, old, new, from: before, to: after)
  }

  private static func change(
    at path: TreePath, _ old: TreeView.Found?, _ new: TreeView.Found?, from before: TreeView,
    to after: TreeView
  ) throws(StoreError) -> PathChange {
    var change = PathChange(path: path, before: old, after: new)
    change.source = try otherPath(of: new, at: path, besides: old, in: before)
    change.target = try otherPath(of: old, at: path, besides: new, in: after)
    return change
  }

  /// Returns the path at which the other tree shows a value's key, if that is elsewhere.
  private static func otherPath(
    of found: TreeView.Found?, at path: TreePath, besides other: TreeView.Found?, in view: TreeView
  ) throws(StoreError) -> TreePath? {
    guard case .value(let entry)? = found else { return nil }
    if case .value(let otherEntry)? = other, otherEntry.key == entry.key { return nil }
    // A key at its own path had that before too, unless something else took it.
    guard other != nil || TreeView.ownPath(entry.key) != path.bytes else { return nil }
    guard try view.map.entry(at: entry.key) != nil else { return nil }
    return TreePath(try view.path(of: entry.key))
  }

  /// Checks the escaped names of a value that one of the trees does not show at its own path.
  private mutating func lookAtDisplaced(_ change: MapChange, _ found: Both) throws(StoreError) {
    if change.old != nil, !Self.shows(found.before, change.key) {
      try look(at: TreePath(try before.path(of: change.key)))
    }
    if change.new != nil, !Self.shows(found.after, change.key) {
      try look(at: TreePath(try after.path(of: change.key)))
    }
  }

  private static func shows(_ found: TreeView.Found?, _ key: Key) -> Bool {
    if case .value(let entry)? = found { return entry.key == key }
    return false
  }

  /// Checks every path at which one of the trees shows a value.
  private mutating func lookAtShown(_ key: Key) throws(StoreError) {
    for view in [before, after] where try view.map.entry(at: key) != nil {
      try look(at: TreePath(try view.path(of: key)))
    }
  }

  /// Checks the values that may lose their names to a path, or regain them.
  private mutating func lookAround(_ path: TreePath) throws(StoreError) {
    try lookAtShown(Key(bytes: path.bytes))
    let isEscapedBefore = try before.hasEscaped()
    if try isEscapedBefore ? true : after.hasEscaped() {
      try lookAtShown(Key(bytes: TreeView.escapedPrefix(path.bytes)))
    }
    try lookBeside(path)
  }

  /// Checks the directories above a changed key, up to one that both trees have.
  private mutating func lookAbove(_ directory: TreePath) throws(StoreError) {
    guard directory != last else { return }
    last = directory
    var path = directory
    while !path.isRoot {
      let both = try look(at: path)
      if both.isDirectoryInBoth { return }
      if both.changesDirectory { try lookAround(path) }
      path = path.parent
    }
  }

  /// Checks the displaced values whose escaped names begin like a name: a file of that name makes a value take the
  /// next.
  private mutating func lookBeside(_ path: TreePath) throws(StoreError) {
    let name = path.name.bytes
    guard name.starts(with: DisplacedName.prefix), seenNames.insert(path).inserted else { return }
    if let key = DisplacedName.key(of: name) {
      try lookAtShown(key)
      return
    }
    // Long keys are not in their names, so all displaced values of the directory are checked.
    for view in [before, after] {
      var listing = view.list(path.parent.bytes)
      while let item = try listing.next() {
        guard item.name.starts(with: DisplacedName.prefix) else { continue }
        try look(at: path.parent.appending(FileName(item.name)))
      }
    }
  }
}
