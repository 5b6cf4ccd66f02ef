/// Nodes of maps that are written as the difference from another node.
///
/// A version's nodes differ from their predecessors' by an entry or two, so a node is compressed after an older
/// record, its base, which has no base itself. When the difference exceeds a quarter of the base's length, the node
/// is written whole and becomes the base of later nodes.
///
/// INVARIANT S8: a base is before the records that depend on it, in the same segment or in one with a smaller
/// number, and was written in the same transaction or in a committed one: it is durable no later than they.
extension RecordStore {
  /// The base's length on disk divided by this is the limit of a difference.
  private static let most = 4
  /// Shorter nodes are written whole, because little would be saved.
  private static let shortest = 512

  func writeNode(
    _ bytes: UnsafeRawBufferPointer, after prior: Location?
  ) throws(StoreError) -> Location {
    guard bytes.count >= RecordStore.shortest, let prior,
      // The caller that reads this record gets the error.
      let base = try? base(of: prior)
    else { return try append(.mapNode, bytes) }
    let capacity = min(Int(base.location.length), bytes.count) / RecordStore.most
    var head: [UInt8] = []
    head.append(base.location)
    let space = capacity - head.count
    let made = base.bytes.withUnsafeBytes {
      DeltaFrame.make(bytes, from: $0, capacity: space, after: head, compression)
    }
    let delta: [UInt8]? =
      switch made {
      case .frame(let frame): frame
      // A search would find little more than the comparison by keys.
      case .tooLong: nil
      case .unknown: compression.delta(bytes, from: base.bytes, capacity: space, after: head)
      }
    guard let packed = delta else {
      let location = try append(.mapNode, bytes)
      bases.record(location, base: location)
      return location
    }
    let location = try packed.withPiece { (payload) throws(StoreError) in
      try append(
        RecordHeader(
          kind: .mapNode, flags: SegmentFormat.isCompressed | SegmentFormat.isDelta,
          payload: payload, rawLength: bytes.count), payload)
    }
    bases.record(location, base: base.location)
    return location
  }

  /// The base for a node that follows the one at a location: that node or, if it has one, its base.
  private func base(of prior: Location) throws(StoreError) -> (location: Location, bytes: [UInt8]) {
    if let place = bases.base(of: prior) { return (place, try bytes(ofBase: place)) }
    let (header, payload) = try readPacked(at: prior)
    guard header.isDelta else { return (prior, try bytes(ofBase: prior, header, payload)) }
    let place = try bases(of: prior, .mapNode, payload).places[0]
    bases.record(prior, base: place)
    return (place, try bytes(ofBase: place))
  }

  /// Returns the places of the bases of a difference, and the length of the payload before its frame.
  func bases(
    of location: Location, _ kind: RecordKind, _ payload: [UInt8]
  ) throws(StoreError) -> (places: [Location], head: Int) {
    let isPatch = kind != .mapNode
    let count = isPatch ? Int(payload.first ?? 0) : 1
    let head = (isPatch ? 1 : 0) + count * SegmentFormat.baseLength
    let places = Array(payload.prefix(head).dropFirst(isPatch ? 1 : 0)).parsed { reader in
      var places: [Location] = []
      while places.count < count, let place = reader.location() { places.append(place) }
      return places
    }
    guard let places, (1...SegmentFormat.mostBases).contains(count), places.count == count,
      places.allSatisfy({ ($0.segment, $0.offset) < (location.segment, location.offset) })
    else { throw damage(location, "rests on no record before it") }
    return (places, head)
  }

  func readDelta(
    _ header: RecordHeader, _ payload: [UInt8], at location: Location
  ) throws(StoreError) -> [UInt8] {
    let (places, head) = try bases(of: location, header.kind, payload)
    let base: [UInt8]
    do throws(StoreError) {
      base =
        try header.kind == .mapNode
        ? bytes(ofBase: places[0]) : bytes(ofBases: places, header.kind)
    } catch {
      guard case .corrupt(let reason) = error else { throw error }
      throw damage(location, "rests on another: \(reason)")
    }
    let frame = payload.dropFirst(head)
    guard let raw = compression.undelta(frame, from: base, length: header.rawLength) else {
      throw damage(location, "does not decompress")
    }
    if header.kind == .mapNode { bases.record(location, base: places[0]) }
    return raw
  }

  /// Returns the raw bytes of a base; usually its node is in memory.
  private func bytes(ofBase place: Location) throws(StoreError) -> [UInt8] {
    // A node in memory may be a difference itself, and cannot be a base.
    if bases.base(of: place) == place {
      if let node = mapNodes.node(at: place) { return node.bytes }
      if let known = bases.bytes.value(place) { return known }
    }
    let (header, payload) = try readPacked(at: place)
    return try bytes(ofBase: place, header, payload)
  }

  /// Does the same for a record that was read, and keeps the bytes for the next versions' nodes.
  private func bytes(
    ofBase place: Location, _ header: RecordHeader, _ payload: [UInt8]
  ) throws(StoreError) -> [UInt8] {
    guard header.kind == .mapNode, !header.isDelta else {
      throw damage(place, "is not a record that others are stored against")
    }
    bases.record(place, base: place)
    if let node = mapNodes.node(at: place) { return node.bytes }
    let bytes = try unpacked(header, payload, at: place)
    bases.bytes.insert(place, bytes, cost: bytes.count + 128)
    return bytes
  }
}

/// The bases of recently written or read nodes.
final class DeltaBases: Sendable {
  /// The location of each node's base; a base has its own.
  private let places = GenerationCache<Location, Location>(budget: 32_768, shards: 1)
  let bytes = GenerationCache<Location, [UInt8]>(budget: 8 << 20, shards: 1)

  func base(of location: Location) -> Location? { places.value(location) }
  func record(_ location: Location, base: Location) { places.insert(location, base, cost: 1) }
}
