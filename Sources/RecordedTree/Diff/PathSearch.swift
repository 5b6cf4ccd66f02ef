import Inodes
import LLVSCore
import TreeNames

/// A change that is kept until it is delivered. It is long, and not to be moved with a dictionary.
final class KeptChange {
  let change: PathChange

  init(_ change: PathChange) { self.change = change }
}

/// Finds the paths at which the trees of two maps show something else, in no order.
struct PathSearch {
  /// The number of changes whose entries are kept; the entries of others are looked up once more
  /// when they are needed, so that a difference of a million paths takes memory for paths alone.
  private static let keptChanges = 20_000

  private let before: TreeView
  private let after: TreeView
  private var paths: [TreePath] = []
  private(set) var known: [TreePath: KeptChange] = [:]
  /// The directory above which everything was looked at with the last key.
  private var last: TreePath?
  /// Names like those of displaced values that were looked at.
  private var seenNames: Set<TreePath> = []
  /// Positions that go forward with the keys that differ.
  private var cursorBefore: MapCursor
  private var cursorAfter: MapCursor

  init(before: TreeView, after: TreeView) {
    self.before = before
    self.after = after
    cursorBefore = MapCursor(before.map)
    cursorAfter = MapCursor(after.map)
  }

  /// The paths that differ, ascending, each once.
  consuming func sortedPaths() -> [TreePath] {
    var sorted = paths
    sorted.sort()
    var result: [TreePath] = []
    result.reserveCapacity(sorted.count)
    for path in sorted where path != result.last { result.append(path) }
    return result
  }

  mutating func run() throws(StoreError) {
    // Trees of one map are equal whatever is in it, also where that cannot be read.
    guard before.map.root != after.map.root else { return }
    let isEscapedBefore = try before.hasEscaped()
    let isEscaped = try isEscapedBefore ? true : after.hasEscaped()
    var diff = try MapDiff(from: before.map, to: after.map)
    while let change = try diff.next() {
      if let old = change.old, let new = change.new {
        if TreeView.Found.value(old).isSame(as: .value(new)) { continue }
        if !isEscaped, try takeAlone(old, new) { continue }
      }
      try take(change)
    }
  }

  /// Takes a value that both trees show at its own path, if that is certain at a glance: no other key
  /// begins with its key, so no directory is in its place. Nearly all changes are of this kind.
  private mutating func takeAlone(_ old: Entry, _ new: Entry) throws(StoreError) -> Bool {
    let key = new.key.bytes
    guard !new.isDirectory, !key.isEmpty, PathLimit.reach(of: key[...]) == key.count,
      try Self.isAlone(key, &cursorBefore), try Self.isAlone(key, &cursorAfter)
    else { return false }
    let path = TreePath(key)
    take(PathChange(path: path, before: .value(old), after: .value(new)))
    return true
  }

  private static func isAlone(
    _ key: [UInt8], _ cursor: inout MapCursor
  ) throws(StoreError) -> Bool {
    try cursor.seek(to: key)
    try cursor.advance()
    return !(cursor.withKey { $0.starts(with: key) } ?? false)
  }

  private mutating func take(_ change: PathChange) {
    paths.append(change.path)
    guard known.count < Self.keptChanges, !Self.isLong(change.before), !Self.isLong(change.after)
    else { return }
    known[change.path] = KeptChange(change)
  }

  /// True for an entry with long attributes, of which a few take the memory of thousands of others.
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

  // MARK: - One path

  /// The entries of the two trees at one path.
  private struct Both {
    var before: TreeView.Found?
    var after: TreeView.Found?

    var changesDirectory: Bool {
      (before?.isDirectory ?? false) != (after?.isDirectory ?? false)
    }
    var isDirectoryInBoth: Bool {
      (before?.isDirectory ?? false) && (after?.isDirectory ?? false)
    }
  }

  /// Compares what the trees show at a path, and takes the path if it differs.
  @discardableResult
  private mutating func look(at path: TreePath) throws(StoreError) -> Both {
    if let kept = known[path] {
      return Both(before: kept.change.before, after: kept.change.after)
    }
    let both = Both(
      before: try before.find(path: path.bytes), after: try after.find(path: path.bytes))
    guard Self.differs(both.before, both.after) else { return both }
    guard known.count < Self.keptChanges else {
      paths.append(path)
      return both
    }
    take(try Self.change(at: path, both.before, both.after, from: before, to: after))
    return both
  }

  private static func differs(_ a: TreeView.Found?, _ b: TreeView.Found?) -> Bool {
    switch (a, b) {
    case (nil, nil): false
    case (let a?, let b?): !a.isSame(as: b)
    default: true
    }
  }

  /// Returns what differs at a path; nil if nothing does.
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
    // A key that is shown at its own path had it before too, unless something else took it.
    guard other != nil || TreeView.ownPath(entry.key) != path.bytes else { return nil }
    guard try view.map.entry(at: entry.key) != nil else { return nil }
    return TreePath(try view.path(of: entry.key))
  }

  // MARK: - What a key that comes or goes changes elsewhere

  /// Looks at the escaped names of a value that one of the trees does not show at its own path.
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

  /// Looks at every path at which one of the trees shows a value.
  private mutating func lookAtShown(_ key: Key) throws(StoreError) {
    for view in [before, after] where try view.map.entry(at: key) != nil {
      try look(at: TreePath(try view.path(of: key)))
    }
  }

  /// Looks at the values that may lose their names to what is at a path, or get them back.
  private mutating func lookAround(_ path: TreePath) throws(StoreError) {
    try lookAtShown(Key(bytes: path.bytes))
    let isEscapedBefore = try before.hasEscaped()
    if try isEscapedBefore ? true : after.hasEscaped() {
      try lookAtShown(Key(bytes: TreeView.escapedPrefix(path.bytes)))
    }
    try lookBeside(path)
  }

  /// Looks at the directories above a key that came or went, up to one that both trees have.
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

  /// Looks at the displaced values whose escaped names begin like a name: a file that has such a
  /// name makes the value take the next one.
  private mutating func lookBeside(_ path: TreePath) throws(StoreError) {
    let name = path.name.bytes
    guard name.starts(with: DisplacedName.prefix), seenNames.insert(path).inserted else { return }
    if let key = DisplacedName.key(of: name) {
      try lookAtShown(key)
      return
    }
    // Long keys are not in their names: all displaced values of the directory are looked at.
    for view in [before, after] {
      var listing = view.list(path.parent.bytes)
      while let item = try listing.next() {
        guard item.name.starts(with: DisplacedName.prefix) else { continue }
        try look(at: path.parent.appending(FileName(item.name)))
      }
    }
  }
}
