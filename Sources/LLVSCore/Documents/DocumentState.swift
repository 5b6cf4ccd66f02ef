/// One value, or one removal, that no later write replaced.
package struct DocumentValue: Hashable, Sendable {
  package var dot: DocumentDot
  /// The version whose map holds the value, or that removed it; nil while unknown.
  package var holder: VersionNumber?
  package var isRemoval: Bool
  /// The document's number for the type of value; nil for a version's write, whose file has the type.
  package var type: UInt8?
  /// When it was written, in milliseconds since 1970.
  package var time: Int64

  package init(
    dot: DocumentDot, holder: VersionNumber?, isRemoval: Bool, type: UInt8? = nil, time: Int64
  ) {
    self.dot = dot
    self.holder = holder
    self.isRemoval = isRemoval
    self.type = type
    self.time = time
  }

  /// The order of several values, the shown one first: a value before a removal, then the newest, then by author.
  package static func isBefore(_ a: DocumentValue, _ b: DocumentValue) -> Bool {
    if a.isRemoval != b.isRemoval { return a.isRemoval }
    return a.time != b.time ? a.time < b.time : a.dot < b.dot
  }
}

package struct DocumentKeyState: Hashable, Sendable {
  /// The values that no later write replaced, in ascending order of dots.
  package var live: [DocumentValue]
  /// The write of the value at the key in the version's map.
  package var held: DocumentDot?
  /// All authors that ever wrote the key, in ascending order.
  package var authors: [DocumentAuthor]

  mutating func note(_ more: some Sequence<DocumentAuthor>) {
    for author in more {
      let index = authors.firstIndex { !($0 < author) } ?? authors.endIndex
      if index == authors.endIndex || authors[index] != author { authors.insert(author, at: index) }
    }
  }
}

/// The number of each author's last known write; a known write that is not in the state was replaced.
package struct DocumentVector: Sendable {
  package struct Knowledge: Hashable, Sendable {
    package var usn: Int64
    /// The name that a document gave; nil for an author of versions.
    package var name: [UInt8]?
    /// True for an author that is one version, as it has no writer.
    package var isOneVersion: Bool

    package init(usn: Int64, name: [UInt8]? = nil, isOneVersion: Bool = false) {
      self.usn = usn
      self.name = name
      self.isOneVersion = isOneVersion
    }
  }

  package private(set) var authors = PersistentMap<DocumentAuthor, Knowledge>()

  package init() {}
  package func covers(_ dot: DocumentDot) -> Bool { usn(of: dot.author) >= dot.usn }

  /// Returns the number of an author's last known write; 0 for none.
  package func usn(of author: DocumentAuthor) -> Int64 { authors[author]?.usn ?? 0 }

  package mutating func add(_ author: DocumentAuthor, _ knowledge: Knowledge) {
    var known = authors[author] ?? Knowledge(usn: 0)
    if known.usn >= knowledge.usn, known.name != nil || knowledge.name == nil,
      known.isOneVersion || !knowledge.isOneVersion
    {
      return
    }
    known.isOneVersion = known.isOneVersion || knowledge.isOneVersion
    known.usn = max(known.usn, knowledge.usn)
    known.name = known.name ?? knowledge.name
    authors[author] = known
  }

  package mutating func add(_ dot: DocumentDot, isOneVersion: Bool = false) {
    add(dot.author, Knowledge(usn: dot.usn, isOneVersion: isOneVersion))
  }

  /// Returns true if it has all writes that another one has, except those of some authors.
  package func covers(_ other: DocumentVector, besides: Set<DocumentAuthor> = []) -> Bool {
    var covers = true
    PersistentMap.differences(authors, other.authors) { author, mine, theirs in
      if (theirs?.usn ?? 0) > (mine?.usn ?? 0), !besides.contains(author) { covers = false }
    }
    return covers
  }

  package mutating func formUnion(_ other: DocumentVector) {
    let before = authors
    PersistentMap.differences(before, other.authors) { author, _, theirs in
      if let theirs { add(author, theirs) }
    }
  }
}

/// The states of keys in a version.
///
/// A type of its own, because the compiler specializes ``PersistentMap`` only in this module; generic code takes
/// several times as long.
package struct DocumentKeys: Sendable {
  fileprivate var map = PersistentMap<Key, DocumentKeyState>()

  package var count: Int { map.count }
  package subscript(key: Key) -> DocumentKeyState? { map[key] }
  package func forEach(_ body: (Key, DocumentKeyState) -> Void) { map.forEach(body) }

  /// Calls `body` with the keys at which two versions may differ, and both states.
  /// - Complexity: O(the keys changed on the way from one to the other).
  package static func differences(
    _ a: Self, _ b: Self, _ body: (Key, DocumentKeyState?, DocumentKeyState?) -> Void
  ) { PersistentMap.differences(a.map, b.map, body) }

  static func differences(
    _ a: Self, _ b: Self,
    throwing body: (Key, DocumentKeyState?, DocumentKeyState?) throws(StoreError) -> Void
  ) throws(StoreError) { try PersistentMap.differences(a.map, b.map, body) }
}

/// A version as a document (docs/documents.md, "A version as a document"): its known writes, and at each key the
/// values that no later write replaced. It is a function of the version and its ancestors, equal in every store.
package struct DocumentState: Sendable {
  package var vector = DocumentVector()
  package private(set) var keys = DocumentKeys()
  /// The keys with several values.
  package private(set) var contested = PersistentMap<Key, Bool>()
  /// The program that the documents belong to; nil if unknown.
  package var application: DocumentApplication?
  package var isImported = false

  package init() {}

  package mutating func set(_ key: Key, _ state: DocumentKeyState) {
    keys.map[key] = state
    if state.live.count > 1 {
      contested[key] = true
    } else if contested.count > 0, contested[key] != nil {
      contested[key] = nil
    }
  }

  /// The most authors of one version each that a document is notified of when it was replaced.
  package static let mostReplacedVersions = 500

  /// The authors that a document need not list: of one version each, all replaced; none unless there are many.
  package func untoldAuthors(to vector: DocumentVector) -> Set<DocumentAuthor> {
    var authors: Set<DocumentAuthor> = []
    PersistentMap.differences(vector.authors, self.vector.authors) { author, theirs, ours in
      if theirs == nil, ours?.isOneVersion == true { authors.insert(author) }
    }
    guard authors.count > Self.mostReplacedVersions else { return [] }
    keys.forEach { _, known in
      for value in known.live { authors.remove(value.dot.author) }
    }
    return authors.count > Self.mostReplacedVersions ? authors : []
  }

  /// Returns the values that a join leaves at a key: those that both have, and those that one has and the
  /// other does not know (Bieniusa et al., "An optimized conflict-free replicated set", 2012).
  package static func join(
    _ a: [DocumentValue], _ vectorOfA: DocumentVector, _ b: [DocumentValue],
    _ vectorOfB: DocumentVector
  ) -> [DocumentValue] {
    var joined: [DocumentValue] = []
    for var value in a {
      if let other = b.first(where: { $0.dot == value.dot }) {
        value.holder = value.holder ?? other.holder
        value.type = value.type ?? other.type
        joined.append(value)
      } else if !vectorOfB.covers(value.dot) {
        joined.append(value)
      }
    }
    for value in b where !a.contains(where: { $0.dot == value.dot }) {
      if !vectorOfA.covers(value.dot) { joined.append(value) }
    }
    return joined.sorted { $0.dot < $1.dot }
  }
}

/// The program that a document belongs to, with the version of its data.
package struct DocumentApplication: Hashable, Sendable {
  /// A name as a reversed domain.
  package var id: [UInt8]
  /// Data of another major version cannot be read.
  package var major: Int64
  /// Data of another minor version can be read.
  package var minor: Int64
  /// A text for people; nil for none.
  package var description: [UInt8]?

  package init(id: [UInt8], major: Int64, minor: Int64, description: [UInt8]? = nil) {
    self.id = id
    self.major = major
    self.minor = minor
    self.description = description
  }
}
