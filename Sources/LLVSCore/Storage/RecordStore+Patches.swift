/// Chunks and nodes of values that are written as patches: the difference from older records, their bases.
///
/// A page that changes in a database changes a chunk of 64 KiB, and most of the chunk is in the value that was at the
/// key before. The bases of a patch are whole records, so reading a patch reads at most 33. S8 holds for each base.
///
/// Bytes of a chunk that are in no base and that do not compress would be in every later patch of the chunk, too. They
/// become a whole record of their own, a *piece*, which is one more base. So a page is stored once.
extension RecordStore {
  /// The greatest length of all bases of a patch together, in bytes.
  private static let longestBases = 1 << 20
  /// Shorter chunks are written whole, because little would be saved.
  private static let shortestChunk = 4096
  private static let shortestNode = 512
  /// The length of the whole record divided by this is the limit of a patch, and of a piece.
  private static let mostOfWhole = 4
  /// New bytes of a patch that take less room stay in it.
  private static let shortestPiece = 1024
  /// About what a frame needs for a run of bytes that is in a base.
  private static let bytesPerRun = 16

  /// False if a record is too long to be a patch of a chunk of this length.
  static func mayBePatch(_ place: Location, ofChunk length: UInt64) -> Bool {
    length >= UInt64(shortestChunk)
      && UInt64(place.length) <= UInt64(SegmentFormat.recordHeaderSize) + length
        / UInt64(mostOfWhole)
  }

  /// Appends a record: as a patch of the whole records behind some older ones, after the piece that it needs, or
  /// whole, if that is not much longer or the older ones cannot be read.
  func append(
    _ kind: RecordKind, _ bytes: UnsafeRawBufferPointer, packed: PackedRecord? = nil,
    after priors: [Location]
  ) throws(StoreError) -> Location {
    guard bytes.count >= (kind == .chunk ? Self.shortestChunk : Self.shortestNode),
      !priors.isEmpty,
      // The caller that reads an older record gets the error.
      let places = try? wholes(behind: priors, kind)
    else { return try append(kind, bytes, packed: packed) }
    let patch = patch(kind, bytes, from: places)
    let most = SegmentFormat.baseLength * places.count + Self.shortestPiece
    if kind == .chunk, patch.map({ $0.header.payloadLength > most }) ?? true,
      let (piece, packed, used) = piece(of: bytes, from: places, insteadOf: patch),
      let base = try? self.bytes(ofBases: used, .chunk),
      base.count + piece.count <= Self.longestBases,
      // A piece without a patch would be in no value.
      let payload = payload(
        bytes, from: base + piece, count: used.count + 1,
        stored: used.reduce(0) { $0 + Int($1.length) } + packed.header.payloadLength)
    {
      let place = try piece.withPiece { (raw) throws(StoreError) in
        try append(.chunk, raw, packed: packed)
      }
      patchBases.insert(place, piece, cost: piece.count + 64)
      let patch = Self.patch(.chunk, payload, from: used + [place], rawLength: bytes.count)
      return try append(kind, bytes, packed: patch)
    }
    return try append(kind, bytes, packed: patch ?? packed)
  }

  /// Returns the bytes of a chunk that are in none of some bases, one run after the other, also as a record, and the
  /// bases that have others of its bytes; nil if they are many, or take more room than a patch that has them.
  private func piece(
    of bytes: UnsafeRawBufferPointer, from places: [Location], insteadOf patch: PackedRecord?
  ) -> (bytes: [UInt8], packed: PackedRecord, used: [Location])? {
    var (used, unused) = (places, true)
    var new: NewRuns?
    // A base that is left out may change what is found in the others.
    while unused {
      new = runs(of: bytes, after: used)
      guard let new else { return nil }
      var start = 0
      let before = used
      used = []
      for place in before {
        let end = start + (patchBases.value(place)?.count ?? 0)
        if new.matched.contains(where: { $0.overlaps(start..<end) }) { used.append(place) }
        start = end
      }
      unused = used.count < before.count
    }
    guard let new, new.length > 0, (1..<SegmentFormat.mostBases).contains(used.count),
      new.runs.count * Self.bytesPerRun < bytes.count / (2 * Self.mostOfWhole)
    else { return nil }
    let piece = new.bytes(of: bytes)
    let packed = piece.withUnsafeBytes { self.packed(.chunk, $0) }
    if let patch {
      let room = packed.header.payloadLength + new.runs.count * Self.bytesPerRun
      guard room <= patch.header.payloadLength + patch.header.payloadLength / 4 else { return nil }
    }
    return (piece, packed, used)
  }

  private func runs(of bytes: UnsafeRawBufferPointer, after places: [Location]) -> NewRuns? {
    guard let base = try? self.bytes(ofBases: places, .chunk) else { return nil }
    return NewRuns(of: bytes, after: base, atMost: bytes.count / Self.mostOfWhole)
  }

  /// Writes the piece of a patch over its damaged record: the same runs are found as when it was made.
  func repairPiece(ofPatch places: [Location], of bytes: UnsafeRawBufferPointer) {
    guard let place = places.last, places.count > 1,
      let piece = runs(of: bytes, after: places.dropLast())?.bytes(of: bytes), !piece.isEmpty
    else { return }
    _ = piece.withUnsafeBytes { repair(.chunk, $0, at: place) }
  }

  /// Returns a record as a patch of these bases.
  func patch(
    _ kind: RecordKind, _ bytes: UnsafeRawBufferPointer, from places: [Location]
  ) -> PackedRecord? {
    guard places.count <= SegmentFormat.mostBases,
      let base = try? self.bytes(ofBases: places, kind),
      let payload = payload(
        bytes, from: base, count: places.count,
        stored: places.reduce(0) { $0 + Int($1.length) })
    else { return nil }
    return Self.patch(kind, payload, from: places, rawLength: bytes.count)
  }

  /// Returns the payload of a patch of `count` bases with room for their places; nil if it is not much shorter than the
  /// whole record. `stored` is the length of the bases' records.
  private func payload(
    _ bytes: UnsafeRawBufferPointer, from base: [UInt8], count: Int, stored: Int
  ) -> [UInt8]? {
    let head = [UInt8](repeating: 0, count: 1 + count * SegmentFormat.baseLength)
    // The bases tell how well such bytes are compressed.
    let whole = min(bytes.count, stored * bytes.count / max(1, base.count))
    return compression.delta(
      bytes, from: base, capacity: whole / Self.mostOfWhole - head.count, after: head)
  }

  private static func patch(
    _ kind: RecordKind, _ payload: [UInt8], from places: [Location], rawLength: Int
  ) -> PackedRecord {
    var head = [UInt8(places.count)]
    for place in places { head.append(place) }
    var payload = payload
    payload.replaceSubrange(..<head.count, with: head)
    let header = payload.withUnsafeBytes {
      RecordHeader(
        kind: kind, flags: SegmentFormat.isCompressed | SegmentFormat.isDelta, payload: $0,
        rawLength: rawLength)
    }
    return PackedRecord(header: header, payload: payload)
  }

  /// Returns the places of whole records: the given ones, and for patches their bases.
  private func wholes(
    behind priors: [Location], _ kind: RecordKind
  ) throws(StoreError) -> [Location] {
    var places: [Location] = []
    for prior in priors {
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
