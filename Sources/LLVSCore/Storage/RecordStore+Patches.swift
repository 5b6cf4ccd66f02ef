/// Chunks and nodes of values that are written as patches: the difference from older records, their bases.
///
/// A page that changes in a database changes a chunk of 64 KiB, and most of the chunk is in the value that was at the
/// key before. The bases of a patch are whole records, so reading a patch reads at most five. S8 holds for each base.
extension RecordStore {
  /// The greatest length of all bases of a patch together, in bytes.
  private static let longestBases = 1 << 20
  /// Shorter chunks are written whole, because little would be saved.
  private static let shortestChunk = 4096
  private static let shortestNode = 512
  /// The length of the whole record divided by this is the limit of a patch.
  private static let mostOfWhole = 4

  /// False if a record is too long to be a patch of a chunk of this length.
  static func mayBePatch(_ place: Location, ofChunk length: UInt64) -> Bool {
    length >= UInt64(shortestChunk)
      && UInt64(place.length) <= UInt64(SegmentFormat.recordHeaderSize) + length
        / UInt64(mostOfWhole)
  }

  /// Returns a record as a patch of the whole records behind some older ones; nil if it is not much shorter than the
  /// whole record, or the older ones cannot be read.
  func patch(
    _ kind: RecordKind, _ bytes: UnsafeRawBufferPointer, after priors: [Location]
  ) -> PackedRecord? {
    guard bytes.count >= (kind == .chunk ? Self.shortestChunk : Self.shortestNode),
      !priors.isEmpty
    else { return nil }
    // The caller that reads an older record gets the error.
    guard let places = try? wholes(behind: priors, kind) else { return nil }
    return patch(kind, bytes, from: places)
  }

  /// Returns a record as a patch of these bases.
  func patch(
    _ kind: RecordKind, _ bytes: UnsafeRawBufferPointer, from places: [Location]
  ) -> PackedRecord? {
    guard places.count <= SegmentFormat.mostBases, let base = try? self.bytes(ofBases: places, kind)
    else { return nil }
    var head = [UInt8(places.count)]
    for place in places { head.append(place) }
    // The bases tell how well such bytes are compressed.
    let stored = places.reduce(0) { $0 + Int($1.length) }
    let whole = min(bytes.count, stored * bytes.count / max(1, base.count))
    let payload = compression.delta(
      bytes, from: base, capacity: whole / Self.mostOfWhole - head.count, after: head)
    return payload.map { payload in
      PackedRecord(
        header: payload.withUnsafeBytes {
          RecordHeader(
            kind: kind, flags: SegmentFormat.isCompressed | SegmentFormat.isDelta, payload: $0,
            rawLength: bytes.count)
        }, payload: payload)
    }
  }

  /// Returns the places of whole records: the given ones, and for patches their bases.
  private func wholes(
    behind priors: [Location], _ kind: RecordKind
  ) throws(StoreError) -> [Location] {
    var places: [Location] = []
    for prior in priors where places.count <= SegmentFormat.mostBases {
      var found = [prior]
      if patchBases.value(prior) == nil {
        let (header, payload) = try readPacked(at: prior)
        if header.isDelta {
          found = try bases(of: prior, kind, payload).places
        } else {
          try keep(header, payload, at: prior, kind)
        }
      }
      for place in found where !places.contains(place) {
        guard gone?.mayUse(place) ?? true else {
          throw .forgotten("a base of a patch is gone")
        }
        places.append(place)
      }
    }
    return places
  }

  /// Returns the places of the whole records that a record is a patch of; none for a whole record.
  func bases(ofRecordAt place: Location, _ kind: RecordKind) throws(StoreError) -> [Location] {
    guard patchBases.value(place) == nil else { return [] }
    let (header, payload) = try readPacked(at: place)
    return header.isDelta ? try bases(of: place, kind, payload).places : []
  }

  /// Returns the raw bytes of the bases of a patch, in their order.
  func bytes(ofBases places: [Location], _ kind: RecordKind) throws(StoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    for place in places {
      if let known = patchBases.value(place) {
        bytes += known
      } else {
        let (header, payload) = try readPacked(at: place)
        bytes += try keep(header, payload, at: place, kind)
      }
      guard bytes.count <= Self.longestBases else {
        throw damage(place, "makes the bases of a patch too long")
      }
    }
    return bytes
  }

  @discardableResult
  private func keep(
    _ header: RecordHeader, _ payload: [UInt8], at place: Location, _ kind: RecordKind
  ) throws(StoreError) -> [UInt8] {
    guard header.kind == kind, !header.isDelta else {
      throw damage(place, "is not a record that others are stored against")
    }
    let bytes = try unpacked(header, payload, at: place)
    patchBases.insert(place, bytes, cost: bytes.count + 64)
    return bytes
  }
}
