import LLVSCore

// Decides between the literal key, the escaped key, and the directory that keys below the path imply.

/// The entries of a path with keys of one form, literal or escaped.
struct PathClaim {
  var value: Entry?
  var directory: Entry?
  var hasBelow = false
  var isDirectory: Bool { directory != nil || hasBelow }
}

/// All claims to a path: a directory wins over values, and a literal key over an escaped one.
struct PathClaims {
  var literal = PathClaim()
  var escaped = PathClaim()

  var winner: TreeView.Found? {
    if literal.isDirectory || escaped.isDirectory {
      return .directory(literal.directory ?? escaped.directory)
    }
    return (literal.value ?? escaped.value).map { .value($0) }
  }
}

extension TreeView {
  /// Returns all claims to a path of valid names.
  func claims(to path: [UInt8]) throws(StoreError) -> PathClaims {
    var claims = PathClaims(literal: try literalClaim(to: path))
    if try hasEscaped() { claims.escaped = try escapedClaim(to: path) }
    return claims
  }

  func literalClaim(to path: [UInt8]) throws(StoreError) -> PathClaim {
    try claim(at: path, isEscaped: false)
  }

  func escapedClaim(to path: [UInt8]) throws(StoreError) -> PathClaim {
    try claim(at: Self.escapedPrefix(path), isEscaped: true)
  }

  private func claim(at key: [UInt8], isEscaped: Bool) throws(StoreError) -> PathClaim {
    var claim = PathClaim()
    var cursor = MapCursor(map)
    try cursor.seek(to: key)
    if cursor.withKey({ $0.elementsEqual(key) }) ?? false {
      let isOfForm = try isOfForm(Key(bytes: key), isEscaped)
      while cursor.withKey({ $0.elementsEqual(key) }) ?? false, let entry = try cursor.entry() {
        if isOfForm, entry.isDirectory { claim.directory = entry }
        if isOfForm, !entry.isDirectory { claim.value = entry }
        try cursor.advance()
      }
    }
    // The keys below sort after all keys that continue with a byte before "/".
    guard cursor.withKey({ $0.starts(with: key) }) ?? false else { return claim }
    claim.hasBelow = try hasKeys(below: key, isEscaped, &cursor)
    return claim
  }

  /// True if a key of the form is below a key and shown there; directories without a valid name are not.
  func hasKeys(
    below key: [UInt8], _ isEscaped: Bool, _ cursor: inout MapCursor
  ) throws(StoreError) -> Bool {
    let prefix = key + [0x2F]
    try cursor.seek(to: prefix)
    while let found = cursor.key, found.bytes.starts(with: prefix) {
      if try isOfForm(found, isEscaped), isShown(found, cursor.kind) { return true }
      try cursor.advance()
    }
    return false
  }

  func isOfForm(_ key: Key, _ isEscaped: Bool) throws(StoreError) -> Bool {
    guard try hasEscaped(), key.bytes.starts(with: DisplacedName.prefix) else { return !isEscaped }
    return (Self.ownPath(key) != key.bytes) == isEscaped
  }

  private func isShown(_ key: Key, _ kind: EntryKind?) -> Bool {
    guard kind == .directory else { return true }
    let path = Self.ownPath(key)
    return !path.isEmpty && PathLimit.reach(of: path[...]) == path.count
  }
}
