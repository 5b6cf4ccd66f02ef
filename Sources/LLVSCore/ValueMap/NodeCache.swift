internal import Synchronization

/// Map nodes in memory, up to a number of bytes; one cache for all maps of a store.
///
/// Second chance: a node that was asked for since the hand last passed stays for another round.
///
/// Long attributes make nodes of megabytes, of which each shard would keep one whatever it may hold: those
/// are kept apart, all together up to the same number of bytes, or one where that is longer. Who asks for no
/// attributes gets such a node without them, which is kept apart too: a walk in the order of hashes would read
/// and check the megabytes for every name.
///
/// Who looks names up keeps what he found: a walk over everything would fill the cache with leaves that nobody
/// asks for again. Leaves that such read share a sixteenth of the bytes, the first read goes first; one that
/// is read for the fourth time stays as any other.
///
/// - Concurrency: any thread; each shard has a lock of its own, a leaf in every lock order, never held
///   during I/O.
package final class NodeCache: Sendable {
  private final class Shard: Sendable {
    let state = Mutex(State())
    let passing = Mutex(ProbationQueue())
  }

  private struct Slot {
    var location: Location
    var node: MapNode
    var recent: Bool
  }

  private struct State {
    var index: [Location: Int] = [:]
    var slots: [Slot] = []
    var hand = 0
    var bytes = 0
  }

  private let shards: [Shard]
  /// Of nodes that are longer than a shard may be.
  private let large = Shard()
  /// Nodes without long attributes.
  private let short = Shard()
  private let budget: Int
  private let largeBudget: Int
  /// Of the bytes, the part that nodes may take which somebody passed.
  private static let passingShare = 16

  /// Creates a cache of about `budget` bytes.
  package init(budget: Int) {
    shards = (0..<16).map { _ in Shard() }
    self.budget = max(budget / 16, 1)
    largeBudget = budget
  }

  private func shard(_ location: Location) -> Shard {
    // Offsets are rarely multiples of much; the multiplication spreads what pattern they have.
    let mixed = (location.offset ^ UInt64(location.segment)) &* 0x9E37_79B9_7F4A_7C15
    return shards[Int(mixed >> 60)]
  }

  static func cost(_ node: MapNode) -> Int {
    node.bytes.count + 4 * node.starts.count + 32 * node.entryDigests.count + 160
  }

  func node(at location: Location) -> MapNode? {
    let shard = shard(location)
    if let node = node(at: location, in: shard) { return node }
    // Who is no passer-by may come again.
    if let node = shard.passing.withLock({ $0.remove(at: location) }) {
      insert(node, at: location)
      return node
    }
    return node(at: location, in: large)
  }

  /// The same without long attributes where it has such, if it is kept so.
  func shortNode(at location: Location) -> MapNode? {
    let shard = shard(location)
    return node(at: location, in: shard) ?? shard.passing.withLock { $0.node(at: location) }
      ?? node(at: location, in: short) ?? node(at: location, in: large)
  }

  /// Keeps a node for as long as a look for names near each other takes, or as any other where it is no leaf or
  /// was read three times before not long ago.
  func insert(passing node: MapNode, at location: Location) {
    let (cost, share) = (Self.cost(node), budget / Self.passingShare)
    guard node.level == 0, cost <= share,
      shard(location).passing.withLock({ $0.take(node, at: location, cost: cost, budget: share) })
    else { return insert(node, at: location) }
  }

  func insert(short node: MapNode, at location: Location) {
    insert(node, at: location, in: short, budget: max(largeBudget / 4, 1))
  }

  private func node(at location: Location, in shard: Shard) -> MapNode? {
    shard.state.withLock { state in
      guard let slot = state.index[location] else { return nil }
      state.slots[slot].recent = true
      return state.slots[slot].node
    }
  }

  func insert(_ node: MapNode, at location: Location) {
    let isLarge = Self.cost(node) > budget
    insert(
      node, at: location, in: isLarge ? large : shard(location),
      budget: isLarge ? largeBudget : budget)
  }

  private func insert(
    _ node: MapNode, at location: Location, in shard: Shard, budget: Int
  ) {
    let cost = Self.cost(node)
    shard.state.withLock { state in
      guard state.index[location] == nil else { return }
      state.bytes += cost
      while state.bytes > budget, !state.slots.isEmpty {
        if state.hand >= state.slots.count { state.hand = 0 }
        if state.slots[state.hand].recent {
          state.slots[state.hand].recent = false
          state.hand += 1
          continue
        }
        let gone = state.slots[state.hand]
        state.bytes -= Self.cost(gone.node)
        state.index[gone.location] = nil
        let last = state.slots.removeLast()
        if state.hand < state.slots.count {
          state.slots[state.hand] = last
          state.index[last.location] = state.hand
        }
      }
      state.index[location] = state.slots.count
      state.slots.append(Slot(location: location, node: node, recent: false))
    }
  }

  /// The bytes that are kept, about.
  package var byteCount: Int {
    (shards + [large, short]).reduce(0) {
      $0 + $1.state.withLock { $0.bytes } + $1.passing.withLock { $0.bytes }
    }
  }

  /// Forgets everything, as after segments were compacted.
  package func removeAll() {
    for shard in shards + [large, short] {
      shard.state.withLock { $0 = State() }
      shard.passing.withLock { $0 = ProbationQueue() }
    }
  }
}
