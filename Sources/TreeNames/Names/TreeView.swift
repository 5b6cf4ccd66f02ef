package import LLVSCore
import Synchronization

// A key's own path is the one it decodes to, or the key's bytes for a literal key. A directory shows the keys of
// the literal range below its path and, if any key of the map begins with `%llvs%`, of the escaped range. A key is
// displaced if its own path has an invalid name, or belongs to a directory or a literal key. It is then shown under
// an escaped name in the deepest directory that its path reaches through valid names.

/// One version's map as a directory tree: keys and paths are a bijection of whole trees.
/// - Concurrency: immutable; any thread.
package struct TreeView: Sendable {
  package enum Found: Hashable, Sendable {
    case value(Entry)
    /// Nil for an implicit directory, which exists only because of the keys below it.
    case directory(Entry?)
  }

  private final class Knowledge: Sendable {
    // A leaf lock.
    let hasEscaped = Mutex<Bool?>(nil)
  }

  package let map: ValueMap
  private let knowledge = Knowledge()

  package init(map: ValueMap) { self.map = map }

  /// True if any key begins with `%llvs%`; the answer is cached.
  package func hasEscaped() throws(StoreError) -> Bool {
    if let known = knowledge.hasEscaped.withLock({ $0 }) { return known }
    let found = try map.contains(prefix: DisplacedName.prefix)
    knowledge.hasEscaped.withLock { $0 = found }
    return found
  }

  /// Looks up a name in a directory, whose path has no slashes at its ends.
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

  package func find(path: [UInt8]) throws(StoreError) -> Found? {
    guard !path.isEmpty else { return .directory(nil) }
    guard let slash = path.lastIndex(of: 0x2F) else { return try child(of: [], named: path) }
    let reach = PathLimit.reach(of: path[...])
    guard slash > 0, reach >= slash else { return nil }
    let name = path[(slash + 1)...]
    // The usual case copies no part.
    if reach == path.count, let found = try claims(to: path).winner { return found }
    guard name.starts(with: DisplacedName.prefix) else { return nil }
    return try child(of: Array(path[..<slash]), named: Array(name))
  }

  /// Looks up a name other than the escaped ones of displaced keys.
  package func normalChild(
    of directory: [UInt8], named name: [UInt8]
  ) throws(StoreError) -> Found? {
    guard DisplacedName.isName(name), PathLimit.allowsName(below: directory) else { return nil }
    return try claims(to: join(directory, name)).winner
  }

  /// The path of a key unless another key or directory has it.
  package static func ownPath(_ key: Key) -> [UInt8] { KeyCoding.path(of: key) ?? key.bytes }

  /// The beginning of the escaped keys below a prefix.
  package static func escapedPrefix(_ prefix: [UInt8]) -> [UInt8] { KeyCoding.escaped(prefix) }

  package func isDisplaced(_ key: Key) throws(StoreError) -> Bool {
    let path = Self.ownPath(key)
    guard !path.isEmpty, PathLimit.reach(of: path[...]) == path.count else { return true }
    guard case .value(let entry)? = try claims(to: path).winner else { return true }
    return entry.key != key
  }

  /// Returns the path at which a key of the map is shown.
  /// - Complexity: O(log *n*).
  package func path(of key: Key) throws(StoreError) -> [UInt8] {
    guard try map.entry(at: key) != nil, try isDisplaced(key) else { return Self.ownPath(key) }
    let home = Self.home(of: Self.ownPath(key))
    return join(home, try displacedName(of: key, in: home))
  }

  /// Returns the deepest directory that a path reaches through valid names.
  package static func home(of path: [UInt8]) -> [UInt8] {
    guard let slash = path.lastIndex(of: 0x2F) else { return [] }
    return Array(path[..<PathLimit.reach(of: path[..<slash])])
  }

  /// Returns the first free escaped name of a displaced key.
  package func displacedName(of key: Key, in home: [UInt8]) throws(StoreError) -> [UInt8] {
    var index = 0
    while true {
      let name = DisplacedName.candidate(index, for: key)
      if try normalChild(of: home, named: name) == nil { return name }
      index += 1
    }
  }

  /// Returns the key for a new file or directory: that of the present one, else the encoded path.
  package func key(
    forNewPath path: [UInt8], isDirectory: Bool = false
  ) throws(StoreError) -> Key {
    Self.key(ofPath: path, showing: try find(path: path), isDirectory: isDirectory)
  }

  /// Returns the key of a path from the result of ``find(path:)``. A directory does not get the key of a displaced
  /// value, because the directory at the value's own path has it.
  package static func key(
    ofPath path: [UInt8], showing found: Found?, isDirectory: Bool = false
  ) -> Key {
    switch found {
    case .value(let entry)? where isDirectory && ownPath(entry.key) != path:
      KeyCoding.key(ofPath: path)
    case .value(let entry)?: entry.key
    case .directory(let entry?)?: entry.key
    default: KeyCoding.key(ofPath: path)
    }
  }

  /// Lists a directory in no promised order.
  package func list(_ directory: [UInt8]) -> TreeListing {
    TreeListing(view: self, directory: directory)
  }

  package func hasChildren(_ directory: [UInt8]) throws(StoreError) -> Bool {
    var listing = list(directory)
    return try listing.next() != nil
  }

  /// Walks everything below a directory, with relative paths.
  package func entries(below directory: [UInt8]) -> TreeWalk {
    TreeWalk(view: self, directory: directory)
  }

  package func join(_ directory: [UInt8], _ name: [UInt8]) -> [UInt8] {
    directory.isEmpty ? name : directory + [0x2F] + name
  }

  /// Returns a filter for the keys that may be shown at or below a path, or under an escaped name above it.
  package static func mayBeShown(atOrBelow path: [UInt8]) -> (Key) -> Bool {
    let isOwn = !path.split(separator: 0x2F).contains { $0.starts(with: DisplacedName.prefix) }
    guard isOwn, !path.isEmpty else { return { _ in true } }
    return { PathFilter.isAtOrBelow(TreeView.ownPath($0), path) }
  }
}
