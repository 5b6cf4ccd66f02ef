/// A version that a user or program made, in contrast to a rule's.
package struct AuthoredVersion {
  /// Reserved by ``WriteTransaction/reserveVersion()``, because new entries refer to it.
  package var number: VersionNumber
  /// The predecessor that the map was edited from; nil for a root.
  package var first: VersionNumber?
  /// The other predecessor of a requested merge; nil otherwise.
  package var second: VersionNumber?
  package var base: ValueMap
  package var map: ValueMap
  /// Nil for the unnamed line.
  package var line: Branch?
  package var author: Author?
  package var message: String?
  package var metadata: Version.Metadata
  /// The change list to record for a merge; nil if the maps determine it.
  package var changes: StoredContent?
  /// All changes from the base to the map, in ascending order; nil if the maps must be compared.
  var known: [MapChange]?
  /// The bytes of extended attributes that one version may change; others are in later versions.
  package var extendedLimit = AttributeList.ownExtended

  package init(
    number: VersionNumber, first: VersionNumber?, second: VersionNumber? = nil, base: ValueMap,
    map: ValueMap, line: Branch? = nil, author: Author? = nil, message: String? = nil,
    metadata: Version.Metadata = [:], changes: StoredContent? = nil
  ) {
    self.number = number
    self.first = first
    self.second = second
    self.base = base
    self.map = map
    self.line = line
    self.author = author
    self.message = message
    self.metadata = metadata
    self.changes = changes
  }
}

extension Version.MetadataKey {
  package static let message = Version.MetadataKey("llvs.message")
}

extension WriteTransaction {
  /// The greatest lead of a predecessor's time over this clock that is followed, in seconds.
  private static let followedAhead: Double = 86_400

  /// Adds a version with a random id, a digest, and the attributes that it changes.
  ///
  /// If it changes more extended attributes than peers accept in one version, following versions have the rest; the
  /// last one is returned, and has the draft's map. With `isBounded`, metadata that is too large for peers is
  /// refused. Cuts of the live tree are not bounded, because they could never be made otherwise.
  package func add(
    _ draft: AuthoredVersion, isBounded: Bool = false
  ) throws(StoreError) -> VersionRecord {
    if let record = try addWhole(draft, isBounded) { return record }
    var last: VersionRecord?
    for var part in try parts(of: draft) {
      part.extendedLimit = .max
      if let last {
        part.number = try reserveVersion()
        part.first = last.number
      }
      last = try addWhole(part, isBounded)
    }
    guard let last else { throw .invalid("attributes of more than a version can carry") }
    return last
  }

  /// Adds a draft as one version; nil if it changes more extended attributes than one version may.
  private func addWhole(
    _ draft: AuthoredVersion, _ isBounded: Bool
  ) throws(StoreError) -> VersionRecord? {
    var metadata = draft.metadata
    if let line = draft.line { metadata[.branch] = Version.MetadataValue(line.rawValue) }
    draft.author?.add(to: &metadata)
    if let message = draft.message { metadata[.message] = Version.MetadataValue(message) }
    metadata[.digest] = Version.MetadataValue(draft.map.contentDigest.hex)
    guard let (keys, size) = try describe(draft, in: &metadata) else { return nil }
    let predecessors = [draft.first, draft.second].compactMap { $0 }
    metadata[.writer] = try writer(of: draft.number, after: predecessors)
    if isBounded, let fault = Version.fault(of: metadata) { throw .invalid(fault) }
    var flags: VersionRecord.Flags = .madeHere
    if draft.map.contentDigest == draft.base.contentDigest { flags.insert(.changedNothing) }
    return try add(
      NewVersion(
        number: draft.number, id: .random(), first: draft.first, second: draft.second,
        timestamp: try timestamp(after: predecessors),
        line: draft.line?.rawValue ?? VersionRecord.unnamedLine, flags: flags,
        metadata: metadata, map: draft.map.root, changes: draft.changes, valueDataSize: size,
        changedKeys: keys))
  }

  /// Adds attributes to the metadata; returns the changed keys and stored bytes; nil if too many.
  private func describe(
    _ draft: AuthoredVersion, in metadata: inout Version.Metadata
  ) throws(StoreError) -> ([Key], Int64)? {
    var values = AttributeWriter(.values)
    var directories = AttributeWriter(.directories)
    var keys: [Key] = []
    var size: Int64 = 0
    var extended = 0
    var known = draft.known?.makeIterator()
    var diff: MapDiff?
    if known == nil { diff = try MapDiff(from: draft.base, to: draft.map) }
    while true {
      let next = known == nil ? try diff?.next() : known?.next()
      guard let change = next else { break }
      let key = change.key
      if change.isNone { continue }
      if keys.last != key { keys.append(key) }
      if let new = change.new {
        extended += new.attributes.extendedLength
        if extended > draft.extendedLimit { return nil }
        if new.isDirectory {
          try directories.append(
            AttributeItem(key: key, kind: .directory, attributes: new.attributes))
        } else if new.attributes != Attributes() || new.kind != .regular
          || change.old.map({ $0.attributes != Attributes() || $0.kind != .regular }) ?? false
        {
          try values.append(AttributeItem(key: key, kind: new.kind, attributes: new.attributes))
        }
        if new.storedVersion == draft.number { size += Int64(clamping: new.stored.length) }
      } else if change.old?.isDirectory == true {
        try directories.append(AttributeItem(key: key, kind: nil, attributes: Attributes()))
      }
    }
    try values.finish(into: &metadata)
    try directories.finish(into: &metadata)
    return (keys, size)
  }

  /// Returns the current time, or a time after every predecessor that is not a day ahead of this clock.
  package func timestamp(after predecessors: [VersionNumber]) throws(StoreError) -> Double {
    let now = Double(Store.now()) / 1e9 - 978_307_200
    var result = now
    for number in predecessors {
      guard let version = try version(number) else { continue }
      guard version.timestamp <= now + Self.followedAhead else { continue }
      result = max(result, version.timestamp + 1e-6)
    }
    return result
  }
}
