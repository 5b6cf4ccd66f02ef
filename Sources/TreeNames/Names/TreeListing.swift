package import LLVSCore

/// The names of one directory of a ``TreeView``, streaming: first those of literal keys, then those that
/// only escaped keys have. A displaced key comes where its own would have come.
///
/// - Complexity: O(1) memory; O(log *n*) for each subdirectory, less for everything else.
package struct TreeListing {
  /// One name.
  package struct Item: Sendable {
    package var name: [UInt8]
    package var kind: EntryKind
    /// Nil for a directory that only keys below it imply.
    package var entry: Entry?
  }

  private enum Phase {
    case start, literal, escaped, end
  }

  private let view: TreeView
  private let directory: [UInt8]
  private let pathPrefix: [UInt8]
  /// Whether names can stand here that are not displaced keys'.
  private let allowsNames: Bool
  private var cursor: MapCursor
  private var phase = Phase.start
  /// What the keys of this phase begin with.
  private var prefix: [UInt8]
  /// Found with the last item and to be given next.
  private var pending: [Item] = []

  init(view: TreeView, directory: [UInt8]) {
    self.view = view
    self.directory = directory
    pathPrefix = directory.isEmpty ? [] : directory + [0x2F]
    allowsNames = PathLimit.allowsName(below: directory)
    prefix = pathPrefix
    cursor = MapCursor(view.map)
  }

  /// The next name; nil at the end.
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
      // Every key below a component that is no name, or one too many, is shown here; directories without
      // a name are not.
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

  // MARK: Claims under the cursor

  /// The entries at a key, over which the cursor goes, and whether anything lies below.
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
    // What lies below follows at once: it is not met again.
    if byte == 0x2F { try cursor.seek(to: start + [0x30]) }
    return claim
  }

  /// The keys below a name that has no entry, or had one before, as the first of them is met.
  private mutating func takeGroup(
    _ name: [UInt8], _ child: [UInt8], _ start: [UInt8], _ isEscaped: Bool
  ) throws(StoreError) {
    let own = try isEscaped ? view.escapedClaim(to: child) : view.literalClaim(to: child)
    try cursor.seek(to: start + [0x30])
    guard own.value == nil, own.directory == nil, own.hasBelow else { return }
    try add(name, own, child, isEscaped)
  }

  // MARK: Items

  /// Adds what a claim shows once the claim of the other form is known.
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
    // The literal keys' turn came first, and showed what wins.
    let isFirst = !isEscaped || claims.literal.isEmpty
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
