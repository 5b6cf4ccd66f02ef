package import LLVS
import Synchronization

// Keys as a tree of names.
//
// A key's own path is what it decodes to, or its bytes where it is literal. A directory shows the keys of
// the literal range below its path and, if any key of the map begins with `%llvs%`, of the escaped range.
// A key is displaced when it cannot stand at its own path: a component that is no name, a directory of
// that path, or a literal key of the same path. It is then shown under a name of its own in the deepest
// directory that its path reaches through valid names.

/// One version's map, shown as a directory tree: keys and paths are a bijection of whole trees.
///
/// - Concurrency: immutable; any thread.
package struct TreeView: Sendable {
  /// What stands at a path.
  package enum Found: Hashable, Sendable {
    /// A value.
    case value(Entry)
    /// A directory; nil where only keys below it say so.
    case directory(Entry?)
  }

  private final class Knowledge: Sendable {
    // A leaf lock.
    let hasEscaped = Mutex<Bool?>(nil)
  }

  package let map: ValueMap
  private let knowledge = Knowledge()

  package init(map: ValueMap) {
    self.map = map
  }

  /// Whether any key begins with `%llvs%`; found out once.
  func hasEscaped() throws(StoreError) -> Bool {
    if let known = knowledge.hasEscaped.withLock({ $0 }) { return known }
    let found = try map.contains(prefix: DisplacedName.prefix)
    knowledge.hasEscaped.withLock { $0 = found }
    return found
  }

  // MARK: - Looking up

  /// What stands at a name of a directory.
  ///
  /// - Parameters:
  ///   - directory: its path without slashes at the ends; empty for the root.
  ///   - name: a single component.
  /// - Complexity: O(log *n*).
  package func child(
    of directory: [UInt8], named name: [UInt8]
  ) throws(StoreError) -> Found? {
    if let found = try normalChild(of: directory, named: name) { return found }
    guard name.starts(with: DisplacedName.prefix) else { return nil }
    if let key = DisplacedName.key(of: name) {
      guard let entry = try map.entry(at: key), try isDisplaced(key),
        try path(of: key) == join(directory, name)
      else { return nil }
      return .value(entry)
    }
    var listing = list(directory)
    while let item = try listing.next() {
      if item.name == name { return item.entry.map { .value($0) } }
    }
    return nil
  }

  /// What stands at a path; the root is a directory always.
  package func find(path: [UInt8]) throws(StoreError) -> Found? {
    guard !path.isEmpty else { return .directory(nil) }
    guard let slash = path.lastIndex(of: 0x2F) else { return try child(of: [], named: path) }
    return try child(of: Array(path[..<slash]), named: Array(path[(slash + 1)...]))
  }

  /// What stands at its own path.
  func normalChild(
    of directory: [UInt8], named name: [UInt8]
  ) throws(StoreError) -> Found? {
    guard DisplacedName.isName(name) else { return nil }
    let path = join(directory, name)
    if let found = try directoryAt(path) { return found }
    for key in try candidates(path) {
      if let entry = try map.entry(at: key) { return .value(entry) }
    }
    return nil
  }

  /// The keys that would stand at a path, in the order of their right to it.
  private func candidates(_ path: [UInt8]) throws(StoreError) -> [Key] {
    let literal = Key(bytes: path)
    let encoded = KeyCoding.key(ofPath: path)
    if encoded == literal { return [literal] }
    let isLiteral = KeyCoding.path(of: literal).map { $0 == path } ?? true
    guard try hasEscaped() else { return isLiteral ? [literal] : [] }
    return isLiteral ? [literal, encoded] : [encoded]
  }

  /// The directory at a path, if there is one.
  func directoryAt(_ path: [UInt8]) throws(StoreError) -> Found? {
    for key in try candidates(path) {
      if let entry = try map.entry(at: key, directory: true) { return .directory(entry) }
    }
    return try hasKeys(below: path) ? .directory(nil) : nil
  }

  private func hasKeys(below path: [UInt8]) throws(StoreError) -> Bool {
    let prefix = path + [0x2F]
    if prefix.starts(with: DisplacedName.prefix) {
      var cursor = MapCursor(map)
      try cursor.seek(to: prefix)
      while let key = cursor.key, key.bytes.starts(with: prefix) {
        if Self.ownPath(key) == key.bytes { return true }
        try cursor.advance()
      }
    } else if try map.contains(prefix: prefix) {
      return true
    }
    guard try hasEscaped() else { return false }
    let escaped = Self.escapedPrefix(prefix)
    var cursor = MapCursor(map)
    try cursor.seek(to: escaped)
    while let key = cursor.key, key.bytes.starts(with: escaped) {
      if Self.ownPath(key) != key.bytes { return true }
      try cursor.advance()
    }
    return false
  }

  // MARK: - Keys and paths

  /// Where a key would stand if nothing were in its way.
  static func ownPath(_ key: Key) -> [UInt8] {
    KeyCoding.path(of: key) ?? key.bytes
  }

  /// What escaped keys below a path prefix begin with.
  static func escapedPrefix(_ prefix: [UInt8]) -> [UInt8] {
    KeyCoding.escaped(prefix)
  }

  /// Whether a value's key cannot stand at its own path.
  func isDisplaced(_ key: Key) throws(StoreError) -> Bool {
    let path = Self.ownPath(key)
    let parts = path.split(separator: 0x2F, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ DisplacedName.isName($0) }) else { return true }
    if try directoryAt(path) != nil { return true }
    for candidate in try candidates(path) {
      if candidate == key { return false }
      if try map.entry(at: candidate) != nil { return true }
    }
    return false
  }

  /// Where a key of the map is shown.
  ///
  /// - Complexity: O(log *n*).
  package func path(of key: Key) throws(StoreError) -> [UInt8] {
    guard try isDisplaced(key) else { return Self.ownPath(key) }
    if try map.entry(at: key) == nil { return Self.ownPath(key) }
    return try displacedPath(of: key)
  }

  private func displacedPath(of key: Key) throws(StoreError) -> [UInt8] {
    let home = Self.home(of: Self.ownPath(key))
    var index = 0
    while true {
      let name = DisplacedName.candidate(index, for: key)
      if try normalChild(of: home, named: name) == nil { return join(home, name) }
      index += 1
    }
  }

  /// The deepest directory that a path reaches through valid names.
  static func home(of path: [UInt8]) -> [UInt8] {
    let parts = path.split(separator: 0x2F, omittingEmptySubsequences: false)
    let valid = parts.dropLast().prefix { DisplacedName.isName($0) }
    return Array(valid.joined(separator: [0x2F]))
  }

  /// The name that a displaced key has in its directory.
  func displacedName(of key: Key) throws(StoreError) -> [UInt8] {
    let path = try displacedPath(of: key)
    return path.lastIndex(of: 0x2F).map { Array(path[($0 + 1)...]) } ?? path
  }

  /// The key that a name made here takes: the one shown at the path already, else the path encoded.
  package func key(forNewPath path: [UInt8]) throws(StoreError) -> Key {
    switch try find(path: path) {
    case .value(let entry)?: entry.key
    case .directory(let entry?)?: entry.key
    default: KeyCoding.key(ofPath: path)
    }
  }

  // MARK: - Walking

  /// Lists a directory in no promised order; see ``TreeListing``.
  package func list(_ directory: [UInt8]) -> TreeListing {
    TreeListing(view: self, directory: directory)
  }

  /// Whether anything is shown in a directory.
  package func hasChildren(_ directory: [UInt8]) throws(StoreError) -> Bool {
    var listing = list(directory)
    return try listing.next() != nil
  }

  /// Walks everything below a directory, directories included, by path relative to it.
  package func entries(below directory: [UInt8]) -> TreeWalk {
    TreeWalk(view: self, directory: directory)
  }

  func join(_ directory: [UInt8], _ name: [UInt8]) -> [UInt8] {
    directory.isEmpty ? name : directory + [0x2F] + name
  }
}
