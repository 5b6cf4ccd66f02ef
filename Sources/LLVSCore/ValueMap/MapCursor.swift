/// Walks through the entries of a map in ascending order: by key bytes, then a directory after a value.
///
/// Holds one node for each level. A listing skips the entries below a subdirectory "d/sub" by seeking to "d/sub0"
/// ("0" follows "/").
/// - Concurrency: a value for one thread at a time.
package struct MapCursor {
  // Not an optional: reading an optional copies it, and looking up a name reads it many times.
  private var walk: MapWalk
  /// True once it was moved to an entry or to the end.
  private var isMoved = false

  /// Begins before the first entry; reads nothing until it is used.
  package init(_ map: ValueMap) { walk = MapWalk(unmovedOn: map) }

  /// Moves to the first entry that is not before a key, forward or back.
  package mutating func seek(to key: [UInt8], directory: Bool = false) throws(StoreError) {
    if !walk.isAtEnd, walk.level == 0, walk.node.compare(walk.index, to: key, directory) <= 0 {
      try walk.seekForward(to: key, directory)
      return
    }
    var fresh = try MapWalk(walk.map)
    try fresh.seekForward(to: key, directory)
    (walk, isMoved) = (fresh, true)
  }

  package mutating func seekToStart() throws(StoreError) {
    var fresh = try MapWalk(walk.map)
    while !fresh.isAtEnd, fresh.level > 0 { try fresh.descend() }
    (walk, isMoved) = (fresh, true)
  }

  @inline(__always)
  package func withKey<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? {
    guard !walk.isAtEnd else { return nil }
    return walk.node.withKey(walk.index, body)
  }

  package var key: Key? { withKey { Key(bytes: Array($0)) } }

  package var kind: EntryKind? {
    guard !walk.isAtEnd else { return nil }
    return walk.node.kind(walk.index)
  }

  package func entry() throws(StoreError) -> Entry? {
    guard !walk.isAtEnd else { return nil }
    return try walk.map.entry(walk.index, of: walk.node)
  }

  package func entry(at key: Key, directory: Bool) throws(StoreError) -> Entry? {
    guard !walk.isAtEnd, walk.node.compare(walk.index, to: key.bytes, directory) == 0
    else { return nil }
    return try walk.map.entry(walk.index, of: walk.node)
  }

  package mutating func advance() throws(StoreError) {
    guard isMoved else { return try seekToStart() }
    guard !walk.isAtEnd else { return }
    walk.advance()
    while !walk.isAtEnd, walk.level > 0 { try walk.descend() }
  }

  /// Returns the entry here and moves on; nil at the end. The first call returns the first entry.
  package mutating func next() throws(StoreError) -> Entry? {
    if !isMoved { try seekToStart() }
    guard let entry = try entry() else { return nil }
    try advance()
    return entry
  }
}
