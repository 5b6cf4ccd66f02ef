internal import Platform

/// Nodes of maps that are written as what differs from another node.
///
/// A version's nodes differ from their predecessors' by an entry or two of up to 256. Such a node is
/// compressed with an older record, its base, as if that stood before it. A base never has a base, so that
/// two records have to be read at most; and once the difference takes over a quarter of what the base
/// takes, a node is written whole, and is the base of those that follow.
///
/// INVARIANT: a base stands before what rests on it, in the same segment or in one of a smaller number,
/// written in the same transaction or in one that was committed: it is durable no later.
extension RecordStore {
  /// The part of a base's length on disk that a difference may have.
  private static let most = 4
  /// Shorter nodes are written whole: nothing is saved that counts.
  private static let shortest = 512

  func writeNode(
    _ bytes: UnsafeRawBufferPointer, after prior: Location?
  ) throws(StoreError) -> Location {
    guard bytes.count >= RecordStore.shortest, let prior,
      // What cannot be read is no base; whoever reads it for itself is told.
      let base = try? base(of: prior)
    else { return try append(.mapNode, bytes) }
    let capacity = min(Int(base.location.length), bytes.count) / RecordStore.most
    var head: [UInt8] = []
    head.append(base.location)
    let room = capacity - head.count
    let made = base.bytes.withUnsafeBytes {
      DeltaFrame.make(bytes, from: $0, capacity: room, after: head, compression)
    }
    let delta: [UInt8]? =
      switch made {
      case .told(let frame): frame
      // A search would find little that keys do not tell.
      case .tooLong: nil
      case .unknown: compression.delta(bytes, from: base.bytes, capacity: room, after: head)
      }
    guard let packed = delta else {
      let location = try append(.mapNode, bytes)
      bases.note(location, DeltaBases.Base(location: location, bytes: Array(bytes)))
      return location
    }
    let location = try packed.withRawBytes { (payload) throws(StoreError) in
      try append(
        RecordHeader(
          kind: .mapNode, flags: SegmentFormat.isCompressed | SegmentFormat.isDelta,
          payload: payload, rawLength: bytes.count), payload)
    }
    bases.note(location, base)
    return location
  }

  /// What a node may be written as a difference from that follows the one at a location: that one, or
  /// what it rests on.
  private func base(of prior: Location) throws(StoreError) -> DeltaBases.Base {
    if let known = bases.base(of: prior) { return known }
    let (header, payload) = try readPacked(at: prior)
    let place = header.isDelta ? try baseLocation(payload, of: prior) : prior
    var bytes = bases.base(of: place)?.bytes
    if bytes == nil { bytes = try read(.mapNode, at: place) }
    let base = DeltaBases.Base(location: place, bytes: bytes ?? [])
    bases.note(prior, base)
    return base
  }

  /// Where the base of a record stands.
  private func baseLocation(
    _ payload: [UInt8], of location: Location
  ) throws(StoreError) -> Location {
    guard let base = Array(payload.prefix(SegmentFormat.baseLength)).parsed({ $0.location() }),
      (base.segment, base.offset) < (location.segment, location.offset)
    else { throw damage(location, "rests on no record before it") }
    return base
  }

  /// The raw bytes of a record that is a difference.
  func readDelta(
    _ header: RecordHeader, _ payload: [UInt8], at location: Location
  ) throws(StoreError) -> [UInt8] {
    let place = try baseLocation(payload, of: location)
    let base = try bytes(ofBase: place, of: location)
    let frame = payload.dropFirst(SegmentFormat.baseLength)
    guard let raw = compression.undelta(frame, from: base, length: header.rawLength) else {
      throw damage(location, "does not decompress")
    }
    return raw
  }

  /// The raw bytes of a record that another rests on, kept for the next that does: versions that follow
  /// each other have nodes that rest on the same.
  private func bytes(
    ofBase place: Location, of location: Location
  ) throws(StoreError) -> [UInt8] {
    if let known = bases.base(of: place), known.location == place { return known.bytes }
    do throws(StoreError) {
      let (below, payload) = try readPacked(at: place)
      guard below.kind == .mapNode, !below.isDelta else {
        throw damage(place, "is no record that others rest on")
      }
      let bytes = try unpacked(below, payload, at: place)
      bases.note(place, DeltaBases.Base(location: place, bytes: bytes))
      return bytes
    } catch {
      guard case .corrupt(let reason) = error else { throw error }
      throw damage(location, "rests on another: \(reason)")
    }
  }
}

/// What nodes that were written or met lately rest on.
///
/// - Concurrency: any thread.
final class DeltaBases: Sendable {
  struct Base: Sendable {
    let location: Location
    let bytes: [UInt8]
  }

  private let known = GenerationCache<Location, Base>(budget: 8 << 20, shards: 1)

  func base(of location: Location) -> Base? { known.value(location) }

  func note(_ location: Location, _ base: Base) {
    // Those that rest on one base share its bytes, which are counted for each all the same.
    known.insert(location, base, cost: base.bytes.count + 128)
  }
}
