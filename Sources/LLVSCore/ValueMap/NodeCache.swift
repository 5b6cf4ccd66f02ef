internal import Synchronization

/// Map nodes in memory, up to a number of bytes; one cache for all maps of a store.
///
/// A clock cache: the hand passes over a node that was used since the last round. Nodes longer than a shard's
/// budget are kept separately, as are long nodes without their long attributes: a walk in the order of hashes would
/// otherwise read and check megabytes for every name.
///
/// Leaves that a walk over everything reads share a sixteenth of the bytes, first in, first out. A leaf is kept
/// like any other after its fourth reading.
/// - Concurrency: any thread; the locks are leaves and not held during I/O.
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
  /// Nodes that are longer than a shard's budget.
  private let large = Shard()
  /// Nodes without their long attributes.
  private let short = Shard()
  private let budget: Int
  private let largeBudget: Int
  /// Leaves that walks read get this fraction of the bytes, as a divisor.
  private static let passingShare = 16

  package init(budget: Int) {
    shards = (0..<16).map { _ in Shard() }
    self.budget = max(budget / 16, 1)
    largeBudget = budget
  }

  private func shard(_ location: Location) -> Shard {
    // Offsets have patterns; the multiplication spreads them.
    let mixed = (location.offset ^ UInt64(location.segment)) &* 0x9E37_79B9_7F4A_7C15
    return shards[Int(mixed >> 60)]
  }

  static func cost(_ node: MapNode) -> Int {
    node.bytes.count + 4 * node.starts.count + 32 * node.entryDigests.count + 160
  }

  func node(at location: Location) -> MapNode? {
    let shard = shard(location)
    if let node = node(at: location, in: shard) { return node }
    // The next reading outside of a walk finds it as any other leaf.
    if let node = shard.passing.withLock({ $0.remove(at: location) }) {
      insert(node, at: location)
      return node
    }
    return node(at: location, in: large)
  }

  /// Returns a node; without its long attributes if it is kept in that form.
  func shortNode(at location: Location) -> MapNode? {
    let shard = shard(location)
    return node(at: location, in: shard) ?? shard.passing.withLock { $0.node(at: location) }
      ?? node(at: location, in: short) ?? node(at: location, in: large)
  }

  /// Keeps a leaf that a walk has read for a short time; keeps other or often read nodes as usual.
  func insert(passing node: MapNode, at location: Location) {
    let (cost, share) = (Self.cost(node), budget / Self.passingShare)
    guard node.level == 0, cost <= share,
      shard(location).passing.withLock({ $0.insert(node, at: location, cost: cost, budget: share) })
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

  private func insert(_ node: MapNode, at location: Location, in shard: Shard, budget: Int) {
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

  package var byteCount: Int {
    (shards + [large, short]).reduce(0) {
      $0 + $1.state.withLock { $0.bytes } + $1.passing.withLock { $0.bytes }
    }
  }
}
