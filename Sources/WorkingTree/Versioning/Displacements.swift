import LLVSCore
import TreeNames

/// Values that stand elsewhere in another map though nothing need have changed at their keys: a directory
/// came to their path, or went from it.
struct Displacements {
  /// A value that both maps have, and where each shows it.
  struct Move {
    var key: Key
    var from: [UInt8]
    var to: [UInt8]
    var old: Entry
    var new: Entry
  }

  let before: TreeView
  let after: TreeView
  private var seen: Set<[UInt8]> = []
  private var seenNames: Set<[UInt8]> = []
  /// The last directory looked at: keys of one directory follow each other.
  private var last: [UInt8]?
  private(set) var moves: [Move] = []
  /// Directories that came or went and have no entry of their own, and whether they are there now.
  private(set) var implied: [(path: [UInt8], isThere: Bool)] = []

  init(before: TreeView, after: TreeView) {
    self.before = before
    self.after = after
  }

  /// Looks at the directories that a key which came or went makes or ends.
  ///
  /// - Complexity: O(log *n*) for each directory, once.
  mutating func look(at key: Key, isDirectory: Bool) throws(StoreError) {
    let path = TreeView.ownPath(key)
    try lookBeside(path)
    var end = path.count
    if !isDirectory {
      guard let slash = path.lastIndex(of: 0x2F) else { return }
      end = slash
    }
    // What cannot be named is no directory.
    end = PathLimit.reach(of: path[..<end])
    let above = Array(path[..<end])
    guard above != last else { return }
    last = above
    while end > 0 {
      let directory = Array(path[..<end])
      guard seen.insert(directory).inserted else { return }
      let key = KeyCoding.key(ofPath: directory)
      try compare(key)
      try lookAtImplied(directory, key)
      end = path[..<end].lastIndex(of: 0x2F) ?? 0
    }
  }

  /// Nothing is said of the key of a directory that is only there, or not, for what is below it.
  private mutating func lookAtImplied(_ path: [UInt8], _ key: Key) throws(StoreError) {
    guard try after.map.entry(at: key, directory: true) == nil,
      try before.map.entry(at: key, directory: true) == nil
    else { return }
    var isThere = false
    if case .directory? = try after.find(path: path) { isThere = true }
    var wasThere = false
    if case .directory? = try before.find(path: path) { wasThere = true }
    if isThere != wasThere { implied.append((path, isThere)) }
  }

  /// A name like those of displaced values may stand in the way of one, which then has the next.
  private mutating func lookBeside(_ path: [UInt8]) throws(StoreError) {
    let name = Array(path[(path.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0)...])
    guard name.starts(with: DisplacedName.prefix), let key = DisplacedName.key(of: name),
      seenNames.insert(name).inserted
    else { return }
    try compare(key)
  }

  /// Looks at a name that a cut takes away.
  mutating func look(atRemoved path: [UInt8]) throws(StoreError) {
    try lookBeside(path)
    // Of a file nothing is left; what is still there had lost its name to a directory.
    let key = KeyCoding.key(ofPath: path)
    guard try after.map.entry(at: key) != nil else { return }
    try look(at: key, isDirectory: true)
  }

  private mutating func compare(_ key: Key) throws(StoreError) {
    guard let old = try before.map.entry(at: key), let new = try after.map.entry(at: key) else {
      return
    }
    let (from, to) = (try before.path(of: key), try after.path(of: key))
    if from != to { moves.append(Move(key: key, from: from, to: to, old: old, new: new)) }
  }
}

extension CutPlan {
  /// Values to whose paths the cut takes directories away that stood in their way, and those that directories
  /// which stayed for what was made in them take their paths from.
  ///
  /// - Complexity: O(log *n*) for each name that the cut takes away and each such directory.
  func displacements(in map: ValueMap) throws(StoreError) -> [Displacements.Move] {
    var found = Displacements(before: base, after: TreeView(map: map))
    for item in items {
      guard case .removeTree = item.action else { continue }
      try found.look(atRemoved: item.path)
    }
    for (path, _, _) in kept { try found.look(at: KeyCoding.key(ofPath: path), isDirectory: true) }
    return found.moves
  }
}
