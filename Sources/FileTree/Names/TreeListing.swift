package import LLVS

/// The names of one directory of a ``TreeView``, streaming.
///
/// - Complexity: O(1) memory beyond the escaped names; O(log *n*) for each subdirectory that is only
///   implied, less for everything else.
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
  private let isBelowMark: Bool
  private var cursor: MapCursor
  private var phase = Phase.start
  private var escapedPrefix: [UInt8] = []
  private var shownEscaped: Set<[UInt8]> = []

  init(view: TreeView, directory: [UInt8]) {
    self.view = view
    self.directory = directory
    pathPrefix = directory.isEmpty ? [] : directory + [0x2F]
    isBelowMark =
      directory.isEmpty || pathPrefix.starts(with: DisplacedName.prefix)
    cursor = MapCursor(view.map)
  }

  /// The next name; nil at the end.
  package mutating func next() throws(StoreError) -> Item? {
    while true {
      switch phase {
      case .start:
        phase = .literal
        try cursor.seek(to: pathPrefix)
      case .literal:
        guard let key = cursor.key, key.bytes.starts(with: pathPrefix) else {
          phase = .end
          if try view.hasEscaped() {
            phase = .escaped
            escapedPrefix = TreeView.escapedPrefix(pathPrefix)
            try cursor.seek(to: escapedPrefix)
          }
          continue
        }
        if let item = try literal(key) { return item }
      case .escaped:
        guard let key = cursor.key, key.bytes.starts(with: escapedPrefix) else {
          phase = .end
          continue
        }
        if let item = try escaped(key) { return item }
      case .end:
        return nil
      }
    }
  }

  // MARK: - Literal keys

  private mutating func literal(_ key: Key) throws(StoreError) -> Item? {
    if isBelowMark, key.bytes.starts(with: DisplacedName.prefix),
      TreeView.ownPath(key) != key.bytes
    {
      try cursor.advance()
      return nil
    }
    let rest = key.bytes[pathPrefix.count...]
    let slash = rest.firstIndex(of: 0x2F)
    let name = Array(rest[..<(slash ?? rest.endIndex)])
    guard DisplacedName.isName(name) else { return try displacedHere(key) }
    if slash != nil {
      // The group of a subdirectory: an entry of its own, which sorts before, was shown by that.
      let path = pathPrefix + name
      let hasEntry = try view.map.entry(at: Key(bytes: path), directory: true) != nil
      try cursor.seek(to: path + [0x30])
      return hasEntry ? nil : Item(name: name, kind: .directory, entry: nil)
    }
    guard let entry = try cursor.entry() else { return nil }
    try cursor.advance()
    if entry.isDirectory { return Item(name: name, kind: .directory, entry: entry) }
    if try mayBeDirectory(key), try view.directoryAt(key.bytes) != nil {
      return Item(name: try view.displacedName(of: key), kind: entry.kind, entry: entry)
    }
    return Item(name: name, kind: entry.kind, entry: entry)
  }

  /// Whether a directory may stand at a value's path too: what the next key, now under the cursor, says.
  private func mayBeDirectory(_ key: Key) throws(StoreError) -> Bool {
    if try view.hasEscaped() { return true }
    let count = key.bytes.count
    return cursor.withKey { next in
      guard next.count >= count, next.prefix(count).elementsEqual(key.bytes) else { return false }
      return next.count == count || next[count] <= 0x2F
    } ?? false
  }

  /// A key whose component here is no name: shown here under a name of its own.
  private mutating func displacedHere(_ key: Key) throws(StoreError) -> Item? {
    let entry = try cursor.entry()
    try cursor.advance()
    // A directory that cannot be named holds nothing that is shown in it.
    guard let entry, !entry.isDirectory else { return nil }
    return Item(name: try view.displacedName(of: key), kind: entry.kind, entry: entry)
  }

  // MARK: - Escaped keys

  private mutating func escaped(_ key: Key) throws(StoreError) -> Item? {
    let path = TreeView.ownPath(key)
    guard path != key.bytes, path.starts(with: pathPrefix) else {
      try cursor.advance()
      return nil
    }
    let rest = path[pathPrefix.count...]
    let slash = rest.firstIndex(of: 0x2F)
    let name = Array(rest[..<(slash ?? rest.endIndex)])
    guard DisplacedName.isName(name) else { return try displacedHere(key) }
    let childPath = pathPrefix + name
    if slash != nil {
      try cursor.seek(to: TreeView.escapedPrefix(childPath) + [0x30])
      return try directoryOnce(name, childPath)
    }
    guard let entry = try cursor.entry() else { return nil }
    try cursor.advance()
    if entry.isDirectory { return try directoryOnce(name, childPath) }
    if try view.isDisplaced(key) {
      return Item(name: try view.displacedName(of: key), kind: entry.kind, entry: entry)
    }
    return Item(name: name, kind: entry.kind, entry: entry)
  }

  /// A directory that escaped keys show, unless literal keys have shown it.
  private mutating func directoryOnce(
    _ name: [UInt8], _ path: [UInt8]
  ) throws(StoreError) -> Item? {
    guard shownEscaped.insert(name).inserted else { return nil }
    let literal = Key(bytes: path)
    if TreeView.ownPath(literal) == path {
      if try view.map.entry(at: literal, directory: true) != nil { return nil }
      var group = MapCursor(view.map)
      try group.seek(to: path + [0x2F])
      while let key = group.key, key.bytes.starts(with: path + [0x2F]) {
        if TreeView.ownPath(key) == key.bytes { return nil }
        try group.advance()
      }
    }
    guard case .directory(let entry)? = try view.directoryAt(path) else { return nil }
    return Item(name: name, kind: .directory, entry: entry)
  }
}
