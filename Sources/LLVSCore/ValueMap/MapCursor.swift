/// Walks the entries of a map in ascending order: key bytes, then a directory after a value.
///
/// Holds one node per level. A listing skips what is below a subdirectory "d/sub" by seeking to
/// "d/sub0" ("0" follows "/").
///
/// - Concurrency: a value for one thread at a time.
package struct MapCursor {
  // Never an optional: whoever looks into one copies it, and a look for a name does so many times.
  private var walk: MapWalk
  /// Whether it was moved to a place, or to the end.
  private var isMoved = false

  /// Creates a cursor before the first entry; nothing is read until it is moved or asked.
  package init(_ map: ValueMap) {
    walk = MapWalk(unmovedOn: map)
  }

  /// Moves to the first entry at or after a key, forward or back.
  ///
  /// - Complexity: O(log *n*), less for what is near ahead.
  package mutating func seek(to key: [UInt8], directory: Bool = false) throws(StoreError) {
    if !walk.isAtEnd, walk.level == 0, walk.node.compare(walk.index, to: key, directory) <= 0 {
      try walk.seekForward(to: key, directory)
      return
    }
    var fresh = try MapWalk(walk.map)
    try fresh.seekForward(to: key, directory)
    (walk, isMoved) = (fresh, true)
  }

  /// Moves to the first entry.
  package mutating func seekToStart() throws(StoreError) {
    var fresh = try MapWalk(walk.map)
    while !fresh.isAtEnd, fresh.level > 0 { try fresh.descend() }
    (walk, isMoved) = (fresh, true)
  }

  /// Whether there is no entry here; true before the first seek.
  package var isAtEnd: Bool { walk.isAtEnd }

  /// Calls with the key here, without copying it; nil at the end.
  @inline(__always)
  package func withKey<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? {
    guard !walk.isAtEnd else { return nil }
    return walk.node.withKey(walk.index, body)
  }

  /// The key here; nil at the end.
  package var key: Key? { withKey { Key(bytes: Array($0)) } }

  /// The kind of the entry here; nil at the end.
  package var kind: EntryKind? {
    guard !walk.isAtEnd else { return nil }
    return walk.node.kind(walk.index)
  }

  /// The entry here; nil at the end.
  package func entry() throws(StoreError) -> Entry? {
    guard !walk.isAtEnd else { return nil }
    return try walk.map.entry(walk.index, of: walk.node)
  }

  /// The entry here, if it is the one at a key.
  package func entry(at key: Key, directory: Bool) throws(StoreError) -> Entry? {
    guard !walk.isAtEnd, walk.node.compare(walk.index, to: key.bytes, directory) == 0
    else { return nil }
    return try walk.map.entry(walk.index, of: walk.node)
  }

  /// Moves to the next entry.
  package mutating func advance() throws(StoreError) {
    guard isMoved else { return try seekToStart() }
    guard !walk.isAtEnd else { return }
    walk.advance()
    while !walk.isAtEnd, walk.level > 0 { try walk.descend() }
  }

  /// Returns the entry here and moves on; nil at the end. Starts at the first entry.
  package mutating func next() throws(StoreError) -> Entry? {
    if !isMoved { try seekToStart() }
    guard let entry = try entry() else { return nil }
    try advance()
    return entry
  }
}
