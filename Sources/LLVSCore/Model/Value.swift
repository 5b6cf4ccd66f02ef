/// A value: bytes under an id, as one version holds them.
package struct Value: Hashable, Sendable {
  /// The key of a value, compared as UTF-8 bytes.
  package struct ID: Hashable, Comparable, Sendable {
    /// The bytes; valid UTF-8 in every key that came through a public initialiser or from a peer.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }
    package init(_ text: String) { bytes = Array(text.utf8) }
    package var rawValue: String { String(decoding: bytes, as: UTF8.self) }

    package static func < (a: ID, b: ID) -> Bool {
      a.bytes.withUnsafeBytes { a in b.bytes.withUnsafeBytes { a.compare(to: $0) < 0 } }
    }
  }

  /// Names a value at the version that stored its bytes.
  package struct Reference: Hashable, Sendable {
    package var valueId: ID
    package var storedVersionId: Version.ID

    package init(valueId: ID, storedVersionId: Version.ID) {
      self.valueId = valueId
      self.storedVersionId = storedVersionId
    }
  }

  package enum Change: Hashable, Sendable {
    case insert(Value)
    case update(Value)
    case remove(ID)
    /// In a merge: takes the value of the second predecessor.
    case preserve(Reference)
    /// In a merge: takes the removal that the second predecessor made.
    case preserveRemoval(ID)
  }

  package var id: ID
  package var data: [UInt8]
  /// The version that stored the bytes; nil for a value not stored yet.
  package var storedVersionId: Version.ID?

  package init(id: ID, data: [UInt8], storedVersionId: Version.ID? = nil) {
    self.id = id
    self.data = data
    self.storedVersionId = storedVersionId
  }
}

/// The engine's name for ``Value/ID``.
package typealias Key = Value.ID
