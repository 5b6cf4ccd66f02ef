import LLVSCore

struct OutlineEntry: Sendable {
  /// The version's id; nil for an entry of another type.
  let id: Version.ID?
  let type: UInt8
  /// The range in the outline of what follows the id, or of another entry's type and body.
  let body: Range<UInt64>
}

extension BundleReader {
  /// Returns the entries of the outline in order, without the descriptions of versions.
  /// - Throws: ``StoreError/invalid(_:)`` if the outline is malformed or not that of the directory.
  /// - Complexity: O(bytes of the outline).
  func entries() throws(StoreError) -> [OutlineEntry] {
    let stream = OutlineStream(self, 0..<outlineLength, label: label)
    var entries: [OutlineEntry] = []
    var known: Set<Version.ID> = []
    while !stream.isAtEnd {
      guard entries.count < directory.entries else {
        throw .invalid("\(label): its outline has more entries than its directory says")
      }
      let length = try stream.varint()
      let start = stream.offset
      guard length > 0, length <= outlineLength - start else {
        throw .invalid("\(label): an entry is longer than the outline")
      }
      let end = start + length
      let type = try stream.byte()
      if type == BundleFormat.EntryType.version.rawValue {
        let id = try stream.id()
        guard stream.offset <= end, known.insert(id).inserted else {
          throw .invalid("\(label): version \(id.rawValue) is malformed or appears twice")
        }
        entries.append(OutlineEntry(id: id, type: type, body: stream.offset..<end))
      } else {
        // Only types from `firstUnreadType` on may be carried on unread.
        guard
          type >= BundleFormat.firstUnreadType
            || type == BundleFormat.EntryType.forget.rawValue
        else { throw .fromTheFuture("\(label): it was made by a newer program") }
        entries.append(OutlineEntry(id: nil, type: type, body: start..<end))
      }
      stream.skip(to: end)
    }
    guard entries.count == directory.entries else {
      throw .invalid("\(label): its outline has fewer entries than its directory says")
    }
    return entries
  }

  /// Returns true if a version of the outline has a value whose bytes its writer has forgotten. A malformed version
  /// has none.
  func lacksBytes(_ entries: [OutlineEntry]) throws(StoreError) -> Bool {
    let versions = entries.filter { $0.id != nil }
    for (index, entry) in versions.enumerated() {
      do throws(StoreError) {
        let changes = try description(of: entry) { distance in
          distance <= UInt64(index) ? versions[index - Int(distance)].id : nil
        }.changes
        let stream = OutlineStream(self, changes, label: label)
        while !stream.isAtEnd {
          switch try stream.change(in: directory) {
          case .insert(_, .forgotten), .update(_, .forgotten): return true
          default: continue
          }
        }
      } catch .invalid, .fromTheFuture {
        continue  // A retrieval refuses it.
      }
    }
    return false
  }

  struct Description {
    let version: Version
    /// The digest of its map, where the writer gave one next to the metadata.
    let contentDigest: Digest?
    let changes: Range<UInt64>
  }

  /// Reads the description of a version; `before` returns the id of the version N before it.
  /// - Throws: ``StoreError/invalid(_:)`` with the reason.
  func description(
    of entry: OutlineEntry, before: (UInt64) -> Version.ID?
  ) throws(StoreError) -> Description {
    guard let id = entry.id else { throw .invalid("\(label): an entry is no version") }
    let stream = OutlineStream(self, entry.body, label: label(id))
    let flags = try stream.byte()
    guard flags & ~BundleFormat.digestFlag == 0 else {
      throw .fromTheFuture("\(label(id)): it was made by a newer program")
    }
    let version = try stream.version(id, before: before)
    let digest = flags & BundleFormat.digestFlag == 0 ? nil : try stream.digest()
    return Description(
      version: version, contentDigest: digest, changes: stream.offset..<entry.body.upperBound)
  }

  func label(_ id: Version.ID) -> String { "\(label): version \(id.rawValue)" }
}

extension OutlineStream {
  fileprivate func version(
    _ id: Version.ID, before: (UInt64) -> Version.ID?
  ) throws(StoreError) -> Version {
    let count = try byte()
    guard count <= 2 else { throw malformed("its predecessors are malformed") }
    var predecessors: [Version.ID] = []
    for _ in 0..<count {
      let distance = try varint()
      guard let predecessor = distance == 0 ? try self.id() : before(distance) else {
        throw malformed("its predecessors are malformed")
      }
      guard predecessor != id, !predecessors.contains(predecessor) else {
        throw malformed("a predecessor appears twice, or is the version itself")
      }
      predecessors.append(predecessor)
    }
    let bits = try bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let timestamp = Double(bitPattern: bits)
    guard timestamp.magnitude < ExchangeLimits.timestamp else {
      throw malformed("the timestamp \(timestamp) is out of range")
    }
    let size = try varint()
    return Version(
      id: id,
      predecessors: predecessors.first.map {
        Version.Predecessors(idOfFirst: $0, idOfSecond: predecessors.dropFirst().first)
      },
      timestamp: timestamp, valueDataSize: size == 0 ? nil : Int64(clamping: size - 1),
      metadata: try metadata())
  }

  private func metadata() throws(StoreError) -> Version.Metadata {
    let count = try varint()
    guard count <= UInt64(ExchangeLimits.metadataCount) else {
      throw malformed("more than \(ExchangeLimits.metadataCount) pieces of metadata")
    }
    var metadata: Version.Metadata = [:]
    var space = ExchangeLimits.metadataLength
    var last: Version.MetadataKey?
    for _ in 0..<count {
      let name = try counted(atMost: ExchangeLimits.metadataKeyLength, "a name of metadata")
      guard let text = String(validating: name, as: UTF8.self) else {
        throw malformed("its metadata is malformed")
      }
      let data = try counted(atMost: space, "metadata")
      let key = Version.MetadataKey(text)
      guard last.map({ $0 < key }) ?? true else { throw malformed("its metadata is out of order") }
      last = key
      space -= data.count
      metadata[key] = Version.MetadataValue(data: data)
    }
    return metadata
  }
}
