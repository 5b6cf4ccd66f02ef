/// The catalog's row of a version.
package struct VersionRecord: Hashable, Sendable {
  package struct Flags: OptionSet, Hashable, Sendable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Its id can be computed again from its content.
    package static let automatic = Flags(rawValue: 1)
    /// Its map has the digest of its only or first predecessor's; a root's map is empty.
    package static let changedNothing = Flags(rawValue: 2)
    /// Not received.
    package static let madeHere = Flags(rawValue: 4)
    /// Received without `llvs.digest`, from the original.
    package static let hasNoDigest = Flags(rawValue: 8)
    /// Its map and those of all its ancestors are empty; set when it is added.
    package static let isVoid = Flags(rawValue: 16)
    /// The map of every root that it descends from is empty; set when it is added.
    package static let hasEmptyRoots = Flags(rawValue: 32)
    /// It, or one of its ancestors, has metadata ``Version/MetadataKey/document``; set when it is added.
    package static let knowsDocuments = Flags(rawValue: 64)
  }

  package static let unnamedLine = "-"
  package var number: VersionNumber
  package var id: Version.ID
  /// The name in `.llvs/versions`; never changes.
  package var name: String
  package var first: VersionNumber?
  /// Nil unless it is a merge.
  package var second: VersionNumber?
  /// Seconds since 2001-01-01 UTC, bit for bit as it was received.
  package var timestamp: Double
  /// 1 for a root, otherwise one more than the greatest generation of the predecessors.
  package var generation: UInt32
  /// The name of its line; ``unnamedLine`` if it names none.
  package var line: String
  package var flags: Flags
  package var map: MapRoot
  /// Bytes of the values that it stored; nil if not recorded.
  package var valueDataSize: Int64?
  /// Nanoseconds since 1970 by this machine's clock.
  package var storedAt: Int64
  /// The metadata: inline (first byte 0) or as stored content (first byte 1).
  var packedMetadata: [UInt8]
  /// The recorded change list; nil if none was recorded.
  package var changes: StoredContent?

  package var predecessors: [VersionNumber] { [first, second].compactMap { $0 } }
}

/// A version to be added: the fields that the caller decides.
package struct NewVersion: Sendable {
  package var number: VersionNumber
  package var id: Version.ID
  package var first: VersionNumber?
  package var second: VersionNumber?
  package var timestamp: Double
  package var line: String
  package var flags: VersionRecord.Flags
  package var metadata: Version.Metadata
  package var map: MapRoot
  package var changes: StoredContent?
  package var valueDataSize: Int64?
  /// The keys whose bytes or attributes it changed, for the index of changes.
  package var changedKeys: [Key]

  package init(
    number: VersionNumber, id: Version.ID, first: VersionNumber? = nil,
    second: VersionNumber? = nil, timestamp: Double,
    line: String = VersionRecord.unnamedLine, flags: VersionRecord.Flags = [],
    metadata: Version.Metadata = [:], map: MapRoot, changes: StoredContent? = nil,
    valueDataSize: Int64? = nil, changedKeys: [Key] = []
  ) {
    self.number = number
    self.id = id
    self.first = first
    self.second = second
    self.timestamp = timestamp
    self.line = line
    self.flags = flags
    self.metadata = metadata
    self.map = map
    self.changes = changes
    self.valueDataSize = valueDataSize
    self.changedKeys = changedKeys
  }
}
