/// Map nodes that are kept for a short time, first in, first out, and hashes of those that were dropped.
///
/// A walk through a tree reads a leaf three times: for the listing of its parent, its look-up and its own listing.
/// A leaf that is read a fourth time is used more often.
struct ProbationQueue {
  private struct Kept {
    let node: MapNode
    /// The number of times that it was dropped before, if known.
    let drops: UInt32
  }

  /// The locations in order of insertion; some may be of removed nodes.
  private var queue: [Location] = []
  /// The number of locations at the beginning of `queue` that were dropped.
  private var gone = 0
  private var nodes: [Location: Kept] = [:]
  private(set) var bytes = 0
  /// Hashes of the locations that were dropped last, each at the index that its hash gives; the lowest two bits
  /// count the drops.
  private var dropped: [UInt32] = []
  private static let droppedCount = 2048

  func node(at location: Location) -> MapNode? { nodes[location]?.node }

  /// Inserts a node that is not in the queue, and drops the oldest ones.
  /// - Returns: false, and inserts nothing, for a node that was dropped three times recently.
  mutating func insert(_ node: MapNode, at location: Location, cost: Int, budget: Int) -> Bool {
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

  mutating func remove(at location: Location) -> MapNode? {
    guard let node = nodes.removeValue(forKey: location)?.node else { return nil }
    bytes -= NodeCache.cost(node)
    return node
  }

  /// The index for a dropped location and its mark, which is never 0 and has two low bits of 0.
  private static func mark(_ location: Location) -> (Int, UInt32) {
    var hash = (location.offset ^ UInt64(location.segment) << 40) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ hash >> 29) &* 0xBF58_476D_1CE4_E5B9
    return (Int(hash >> 32) & (droppedCount - 1), UInt32(truncatingIfNeeded: hash) & ~3 | 4)
  }
}
