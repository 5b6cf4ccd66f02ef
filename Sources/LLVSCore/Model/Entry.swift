/// Where the bytes of a value stand in this store.
package enum Content: Hashable, Sendable {
  /// No bytes.
  case none
  /// All bytes, inside the map itself; at most ``Entry/inlineLimit``.
  case inline([UInt8])
  /// One chunk record that holds all bytes.
  case chunk(Location)
  /// The root record of a tree of chunks.
  case tree(Location)
}

/// The bytes of a value, once they are in the store.
package struct StoredContent: Hashable, Sendable {
  package var length: UInt64
  /// The value digest of digest 1.
  package var digest: Digest
  package var content: Content

  package init(length: UInt64, digest: Digest, content: Content) {
    self.length = length
    self.digest = digest
    self.content = content
  }
}

/// One entry of a version's map: what stands at a key.
///
/// `key`, `kind`, `length`, `digest` and `attributes` are what digest 1 covers and are equal on every
/// replica; the rest is local to this store.
package struct Entry: Hashable, Sendable {
  /// Values up to this many bytes stand in the map.
  package static let inlineLimit = 128

  package var key: Key
  package var kind: EntryKind
  package var attributes: Attributes
  package var stored: StoredContent
  /// The version that stored the bytes: the second half of the value's reference.
  package var storedVersion: VersionNumber
  /// The live inode number of the name, allotted when it first came to be; 0 where none is kept.
  package var inode: UInt64
  /// Allotted anew whenever the bytes or attributes change: the history's inode numbers.
  package var revision: UInt64
  /// Without its extended attributes, which are long and stand in a map: nothing to put into another one.
  package private(set) var isShortened = false

  package init(
    key: Key, kind: EntryKind, attributes: Attributes, stored: StoredContent,
    storedVersion: VersionNumber, inode: UInt64, revision: UInt64
  ) {
    self.key = key
    self.kind = kind
    self.attributes = attributes
    self.stored = stored
    self.storedVersion = storedVersion
    self.inode = inode
    self.revision = revision
  }

  /// More bytes of extended attributes than this are long.
  package static let longAttributes = 512

  /// The entry without its extended attributes, where those are long; as it is where they are not.
  package var shortened: Entry {
    guard attributes.hasLongExtended else { return self }
    var short = self
    short.attributes.extended = []
    short.isShortened = true
    return short
  }

  /// An entry of which the extended attributes were not read.
  var markedShortened: Entry {
    var short = self
    short.isShortened = true
    return short
  }

  /// A shortened entry with the extended attributes that it is without.
  package func whole(with extended: [Attributes.Extended]) -> Entry {
    var whole = self
    whole.attributes.extended = extended
    whole.isShortened = false
    return whole
  }

  /// Whether the entry is a directory: it may share its key with a value and sorts after it.
  package var isDirectory: Bool { kind == .directory }
}
