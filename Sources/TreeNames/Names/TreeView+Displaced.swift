package import LLVSCore

// Values whose own path a directory has: one side of a merge made the file and the other the directory, or a
// program stored both. The keys differ, so no merge finds a clash. The set depends on the tree alone.

extension TreeView {
  /// For more new keys, scanning the whole map is faster than looking up each.
  private static let newKeysLookedUp = 10_000

  /// Returns the keys of values whose path is that of a directory, ascending.
  /// - Complexity: O(*n*), in memory for the result.
  package func valuesBehindDirectories() throws(StoreError) -> [Key] {
    var candidates = try valuesBeforeLongerKeys([])
    try addValuesBehindEscaped(below: DisplacedName.prefix, to: &candidates)
    return try behindDirectories(candidates)
  }

  /// Returns the keys of values below a directory that are not shown at their paths.
  /// - Complexity: O(*k*) for *k* keys below it, in memory for the result.
  package func displacedValues(below directory: [UInt8]) throws(StoreError) -> Set<Key> {
    let prefix = directory + [0x2F]
    var candidates = try valuesBeforeLongerKeys(prefix)
    try addValuesBehindEscaped(below: Self.escapedPrefix(prefix), to: &candidates)
    return Set(
      try behindDirectories(candidates.filter { Self.ownPath($0).starts(with: prefix) }))
  }

  /// Adds the values at and above the paths of escaped keys, which may have literal keys.
  private func addValuesBehindEscaped(
    below prefix: [UInt8], to candidates: inout Set<Key>
  ) throws(StoreError) {
    guard try hasEscaped() else { return }
    var cursor = MapCursor(map)
    try cursor.seek(to: prefix)
    var last: [UInt8] = []
    while let key = cursor.key, key.bytes.starts(with: prefix) {
      try addCandidates(at: key, to: &candidates, &last)
      try cursor.advance()
    }
  }

  /// Returns the keys of values with a prefix whose key begins the path of another key.
  private func valuesBeforeLongerKeys(_ prefix: [UInt8]) throws(StoreError) -> Set<Key> {
    var candidates: Set<Key> = []
    // A stack of values whose keys begin the current key; each begins the next.
    var open: [[UInt8]] = []
    var cursor = MapCursor(map)
    if prefix.isEmpty { try cursor.seekToStart() } else { try cursor.seek(to: prefix) }
    while let kind = cursor.kind, cursor.withKey({ $0.starts(with: prefix) }) ?? false {
      let isDirectory = kind == .directory
      _ = cursor.withKey { key in
        while let value = open.last {
          if key.starts(with: value) {
            let next: UInt8 = key.count == value.count ? 0x2F : key[value.count]
            if next == 0x2F { candidates.insert(Key(bytes: value)) }
            guard next >= 0x2F else { break }
          }
          open.removeLast()
        }
        if !isDirectory { open.append(Array(key)) }
      }
      try cursor.advance()
    }
    return candidates
  }

  /// Does the same from the result for an older map and the difference of the maps.
  /// - Complexity: O(changes log *n*).
  package func valuesBehindDirectories(
    knowing known: [Key], of old: ValueMap
  ) throws(StoreError) -> [Key] {
    var candidates = Set(known)
    var last: [UInt8] = []
    var newCount = 0
    var diff = try MapDiff(from: old, to: map, comparing: .content)
    while let change = try diff.next() {
      guard change.old == nil else { continue }
      newCount += 1
      guard newCount <= Self.newKeysLookedUp else { return try valuesBehindDirectories() }
      try addCandidates(at: change.key, to: &candidates, &last)
    }
    return try behindDirectories(candidates)
  }

  /// True if a directory has the path of a value.
  func isBehindDirectory(_ key: Key) throws(StoreError) -> Bool {
    let path = Self.ownPath(key)
    guard !path.isEmpty, Self.validParts(of: path).count == path.count,
      try map.entry(at: key) != nil
    else {
      return false
    }
    if case .directory? = try claims(to: path).winner { return true }
    return false
  }

  private func behindDirectories(_ candidates: Set<Key>) throws(StoreError) -> [Key] {
    var keys: [Key] = []
    for key in candidates where try isBehindDirectory(key) { keys.append(key) }
    return keys.sorted()
  }

  /// Adds the values at and above the path of a key, except above `last`, which were added before.
  private func addCandidates(
    at key: Key, to candidates: inout Set<Key>, _ last: inout [UInt8]
  ) throws(StoreError) {
    var path = Self.validParts(of: Self.ownPath(key))[...]
    try addValues(at: Array(path), to: &candidates)
    var isNew = true
    while isNew, let slash = path.lastIndex(of: 0x2F) {
      path = path[..<slash]
      // The previous call handled the directories above `last`.
      isNew = !(last.starts(with: path) && (last.count == path.count || last[path.count] == 0x2F))
      if isNew { try addValues(at: Array(path), to: &candidates) }
    }
    last = Self.validParts(of: Self.ownPath(key))
  }

  private func addValues(
    at path: [UInt8], to candidates: inout Set<Key>
  ) throws(StoreError) {
    let literal = Key(bytes: path)
    if try map.entry(at: literal) != nil { candidates.insert(literal) }
    guard try hasEscaped() else { return }
    let escaped = Key(bytes: Self.escapedPrefix(path))
    if try map.entry(at: escaped) != nil { candidates.insert(escaped) }
  }

  /// Returns the longest beginning of valid names.
  private static func validParts(of path: [UInt8]) -> [UInt8] {
    Array(path[..<PathLimit.reach(of: path[...])])
  }
}
