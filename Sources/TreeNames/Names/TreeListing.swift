package import LLVSCore

/// Lists the names of one directory of a ``TreeView``: those of literal keys, then those that only escaped keys
/// have. A displaced key is listed in the order of its key.
/// - Complexity: O(1) memory; O(log *n*) time for each subdirectory, less for other names.
package struct TreeListing {
  package struct Item: Sendable {
    package var name: [UInt8]
    /// A directory for names that only keys below them imply.
    package var kind: EntryKind
    /// Nil for an implicit directory.
    package var entry: Entry?
  }

  private enum Phase {
    case start, literal, escaped, end
  }

  private let view: TreeView
  private let directory: [UInt8]
  private let pathPrefix: [UInt8]
  /// False if the path is too long for one more name, so that only displaced keys are here.
  private let allowsNames: Bool
  private var cursor: MapCursor
  private var phase = Phase.start
  private var prefix: [UInt8]
  /// Items that were found with the last one.
  private var pending: [Item] = []

  init(view: TreeView, directory: [UInt8]) {
    self.view = view
    self.directory = directory
    pathPrefix = directory.isEmpty ? [] : directory + [0x2F]
    allowsNames = PathLimit.allowsName(below: directory)
    prefix = pathPrefix
    cursor = MapCursor(view.map)
  }

  package mutating func next() throws(StoreError) -> Item? {
    while true {
      if let item = pending.popLast() { return item }
      switch phase {
      case .start:
        phase = .literal
        try cursor.seek(to: prefix)
      case .literal, .escaped:
        if let key = cursor.key, key.bytes.starts(with: prefix) {
          try take(key)
        } else if phase == .literal, try view.hasEscaped() {
          phase = .escaped
          prefix = TreeView.escapedPrefix(pathPrefix)
          try cursor.seek(to: prefix)
        } else {
          phase = .end
        }
      case .end: return nil
      }
    }
  }

  private mutating func take(_ key: Key) throws(StoreError) {
    let isEscaped = phase == .escaped
    guard try view.isOfForm(key, isEscaped) else { return try cursor.advance() }
    let path = isEscaped ? TreeView.ownPath(key) : key.bytes
    let rest = path[pathPrefix.count...]
    let slash = rest.firstIndex(of: 0x2F)
    let name = Array(rest[..<(slash ?? rest.endIndex)])
    guard allowsNames, DisplacedName.isName(name) else {
      // Values with keys below an invalid name, or with a name too many, are shown here.
      if let entry = try cursor.entry(), !entry.isDirectory { try addDisplaced(entry) }
      return try cursor.advance()
    }
    let child = pathPrefix + name
    let start = isEscaped ? TreeView.escapedPrefix(child) : child
    if slash == nil {
      try add(name, try exactClaim(start, isEscaped), child, isEscaped)
    } else {
      try takeGroup(name, child, start, isEscaped)
    }
  }

  /// Reads the entries at a key and moves the cursor past them.
  private mutating func exactClaim(
    _ start: [UInt8], _ isEscaped: Bool
  ) throws(StoreError) -> PathClaim {
    var claim = PathClaim()
    while cursor.withKey({ $0.elementsEqual(start) }) ?? false, let entry = try cursor.entry() {
      if entry.isDirectory { claim.directory = entry } else { claim.value = entry }
      try cursor.advance()
    }
    let next = cursor.withKey { next -> UInt8? in
      guard next.count > start.count, next.prefix(start.count).elementsEqual(start) else {
        return nil
      }
      return next[start.count]
    }
    guard case .some(.some(let byte)) = next, byte <= 0x2F else { return claim }
    var probe = cursor
    claim.hasBelow = try view.hasKeys(below: start, isEscaped, &probe)
    // Skips the keys below, which follow directly.
    if byte == 0x2F { try cursor.seek(to: start + [0x30]) }
    return claim
  }

  /// Adds the name of keys below it, unless an entry of its own was already listed.
  private mutating func takeGroup(
    _ name: [UInt8], _ child: [UInt8], _ start: [UInt8], _ isEscaped: Bool
  ) throws(StoreError) {
    let own = try isEscaped ? view.escapedClaim(to: child) : view.literalClaim(to: child)
    try cursor.seek(to: start + [0x30])
    guard own.value == nil, own.directory == nil, own.hasBelow else { return }
    try add(name, own, child, isEscaped)
  }

  /// Adds the result of a claim, with the claim of the other form.
  private mutating func add(
    _ name: [UInt8], _ claim: PathClaim, _ path: [UInt8], _ isEscaped: Bool
  ) throws(StoreError) {
    var claims = PathClaims()
    if isEscaped {
      claims.escaped = claim
      claims.literal = try view.literalClaim(to: path)
    } else {
      claims.literal = claim
      if try view.hasEscaped() { claims.escaped = try view.escapedClaim(to: path) }
    }
    // The phase of literal keys came first.
    let isFirst = !isEscaped || claims.literal.value == nil && !claims.literal.isDirectory
    switch claims.winner {
    case nil: break
    case .directory(let entry):
      if let value = claim.value { try addDisplaced(value) }
      if isFirst { pending.append(Item(name: name, kind: .directory, entry: entry)) }
    case .value(let entry):
      if isFirst {
        pending.append(Item(name: name, kind: entry.kind, entry: entry))
      } else if let value = claim.value {
        try addDisplaced(value)
      }
    }
  }

  private mutating func addDisplaced(_ entry: Entry) throws(StoreError) {
    let name = try view.displacedName(of: entry.key, in: directory)
    pending.append(Item(name: name, kind: entry.kind, entry: entry))
  }
}
