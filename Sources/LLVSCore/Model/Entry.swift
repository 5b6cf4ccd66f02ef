/// The place of a value's bytes in this store.
package enum Content: Hashable, Sendable {
  case none
  /// All bytes, in the map itself; at most ``Entry/inlineLimit``.
  case inline([UInt8])
  case chunk(Location)
  case tree(Location)
}

package struct StoredContent: Hashable, Sendable {
  package var length: UInt64
  package var digest: Digest
  package var content: Content

  package init(length: UInt64, digest: Digest, content: Content) {
    self.length = length
    self.digest = digest
    self.content = content
  }
}

/// One entry of a version's map: the value or directory at a key. Digest 1 covers `key`, `kind`, `length`,
/// `digest` and `attributes`; the other fields are local to this store.
package struct Entry: Hashable, Sendable {
  /// Values up to this many bytes are kept in the map itself.
  package static let inlineLimit = 128
  package var key: Key
  package var kind: EntryKind
  package var attributes: Attributes
  package var stored: StoredContent
  /// The version that stored the bytes: the second half of the value's reference.
  package var storedVersion: VersionNumber
  /// A number that changes with every change of bytes or attributes; inode numbers in history derive from it.
  package var revision: UInt64
  /// True if the entry lacks its long extended attributes; such an entry is never put into another map.
  package private(set) var isShortened = false

  package init(
    key: Key, kind: EntryKind, attributes: Attributes, stored: StoredContent,
    storedVersion: VersionNumber, revision: UInt64
  ) {
    self.key = key
    self.kind = kind
    self.attributes = attributes
    self.stored = stored
    self.storedVersion = storedVersion
    self.revision = revision
  }

  /// Extended attributes with more bytes than this count as long.
  package static let longAttributes = 512

  /// The entry without its extended attributes, except access control lists, if they are long.
  package var shortened: Entry {
    guard attributes.hasLongExtended else { return self }
    var short = self
    short.attributes.extended = attributes.extendedInShortened
    short.isShortened = true
    return short
  }

  var markedShortened: Entry {
    var short = self
    short.isShortened = true
    return short
  }

  /// True if the entry is a directory: it may have the same key as a value and sorts after it.
  package var isDirectory: Bool { kind == .directory }
}
