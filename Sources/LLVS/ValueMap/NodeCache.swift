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
/// - Concurrency: any thread; each shard has a lock of its own, a leaf in every lock order, never held
///   during I/O.
package final class NodeCache: Sendable {
  private final class Shard: Sendable {
    let state = Mutex(State())
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

  private static func cost(_ node: MapNode) -> Int {
    node.bytes.count + 4 * node.starts.count + 32 * node.entryDigests.count + 160
  }

  func node(at location: Location) -> MapNode? {
    node(at: location, in: shard(location)) ?? node(at: location, in: large)
  }

  /// The same without long attributes where it has such, if it is kept so.
  func shortNode(at location: Location) -> MapNode? {
    node(at: location, in: shard(location)) ?? node(at: location, in: short)
      ?? node(at: location, in: large)
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
    (shards + [large, short]).reduce(0) { $0 + $1.state.withLock { $0.bytes } }
  }

  /// Forgets everything, as after segments were compacted.
  package func removeAll() {
    for shard in shards + [large, short] { shard.state.withLock { $0 = State() } }
  }
}
