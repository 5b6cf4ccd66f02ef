/// Map nodes that are kept for a short time, first in, first out, and a faint memory of those that went.
///
/// A walk comes to a leaf three times, each much later than the last: where a directory is listed that has one
/// below, where that one is looked up, and where it is listed itself. Who comes a fourth time comes more often.
struct ProbationQueue {
  private struct Kept {
    let node: MapNode
    /// How often it was dropped before, as far as that is remembered.
    let drops: UInt32
  }

  /// The places as they came; some may be of nodes that were taken out since.
  private var queue: [Location] = []
  /// How many at the beginning of `queue` went.
  private var gone = 0
  private var nodes: [Location: Kept] = [:]
  private(set) var bytes = 0
  /// Hashes of the places that were dropped last, each where its hash says, with how often that was
  /// in the lowest two bits.
  private var dropped: [UInt32] = []

  private static let droppedCount = 2048

  func node(at location: Location) -> MapNode? { nodes[location]?.node }

  /// Takes a node that is not there, and drops those that came first.
  ///
  /// - Returns: false, and nothing is taken, for one that was dropped three times not long ago.
  mutating func take(
    _ node: MapNode, at location: Location, cost: Int, budget: Int
  ) -> Bool {
    guard nodes[location] == nil else { return true }
    var drops: UInt32 = 0
    if !dropped.isEmpty {
      let (index, mark) = Self.mark(location)
      if dropped[index] & ~3 == mark { drops = dropped[index] & 3 }
      if drops == 3 {
        dropped[index] = 0
        return false
      }
    }
    bytes += cost
    nodes[location] = Kept(node: node, drops: drops)
    queue.append(location)
    while bytes > budget, gone < queue.count {
      drop(queue[gone])
      gone += 1
    }
    if queue.count > 2 * nodes.count + 64 {
      queue = queue[gone...].filter { nodes[$0] != nil }
      gone = 0
    }
    return true
  }

  private mutating func drop(_ location: Location) {
    guard let kept = nodes.removeValue(forKey: location) else { return }
    bytes -= NodeCache.cost(kept.node)
    if dropped.isEmpty { dropped = [UInt32](repeating: 0, count: Self.droppedCount) }
    let (index, mark) = Self.mark(location)
    dropped[index] = mark | (kept.drops + 1)
  }

  /// Takes a node out.
  mutating func remove(at location: Location) -> MapNode? {
    guard let node = nodes.removeValue(forKey: location)?.node else { return nil }
    bytes -= NodeCache.cost(node)
    return node
  }

  /// Where a place is noted that was dropped, and as what; never 0, and its lowest two bits are.
  private static func mark(_ location: Location) -> (Int, UInt32) {
    var hash = (location.offset ^ UInt64(location.segment) << 40) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ hash >> 29) &* 0xBF58_476D_1CE4_E5B9
    return (Int(hash >> 32) & (droppedCount - 1), UInt32(truncatingIfNeeded: hash) & ~3 | 4)
  }
}
