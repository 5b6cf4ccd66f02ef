package import LLVSCore

// Values whose own path is taken by a directory: one side of a merge made the file and the other
// the directory, or a program stored both. The keys differ, so no merge saw a clash and dropped
// anything. The set of such values depends on the tree alone: it is the same on every replica that
// has the tree.

extension TreeView {
  /// The number of new keys from which on a scan of the whole map is quicker than a look at each.
  private static let newKeysLookedUp = 10_000

  /// The keys of values whose path is taken by a directory, ascending.
  ///
  /// - Complexity: O(*n*), in memory for what is found.
  package func valuesBehindDirectories() throws(StoreError) -> [Key] {
    var candidates = try valuesBeforeLongerKeys([])
    try addValuesBehindEscaped(below: DisplacedName.prefix, to: &candidates)
    return try behindDirectories(candidates)
  }

  /// The keys of values below a directory that are not shown at their paths.
  ///
  /// - Complexity: O(*k*) for *k* keys below it, in memory for what is found.
  package func displacedValues(below directory: [UInt8]) throws(StoreError) -> Set<Key> {
    let prefix = directory + [0x2F]
    var candidates = try valuesBeforeLongerKeys(prefix)
    try addValuesBehindEscaped(below: Self.escapedPrefix(prefix), to: &candidates)
    return Set(
      try behindDirectories(candidates.filter { Self.ownPath($0).starts(with: prefix) }))
  }

  /// Adds the values at and above the paths of escaped keys; these values may have literal keys.
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

  /// The keys of values with a prefix whose key is also the key of a directory, or the beginning of
  /// a path below one.
  private func valuesBeforeLongerKeys(_ prefix: [UInt8]) throws(StoreError) -> Set<Key> {
    var candidates: Set<Key> = []
    // A stack of values whose keys are beginnings of the current key; each is a beginning of the
    // next.
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

  /// The same, computed from the result for an older map and the difference of the maps.
  ///
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

  /// True if a directory is at the path of a value, so that the value is shown under an escaped
  /// name.
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

  /// Adds the values at the path of a key and above it, except above the path `last`, which were
  /// added before.
  private func addCandidates(
    at key: Key, to candidates: inout Set<Key>, _ last: inout [UInt8]
  ) throws(StoreError) {
    var path = Self.validParts(of: Self.ownPath(key))[...]
    try addValues(at: Array(path), to: &candidates)
    var isNew = true
    while isNew, let slash = path.lastIndex(of: 0x2F) {
      path = path[..<slash]
      // The directories above `last` were looked at in the call before.
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

  /// The longest beginning of a path whose components are valid names.
  private static func validParts(of path: [UInt8]) -> [UInt8] {
    Array(path[..<PathLimit.reach(of: path[...])])
  }
}
