internal import Synchronization

/// A cache bounded by bytes: values used within the last half of the budget stay. Used values move to the young
/// generation, which replaces the old one when it has half the budget. Shards reduce waiting between readers.
final class GenerationCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Shard {
    var young: [Key: (value: Value, cost: Int)] = [:]
    var old: [Key: (value: Value, cost: Int)] = [:]
    var cost = 0
  }

  private final class Locked: Sendable {
    // A leaf lock.
    let shard = Mutex(Shard())
  }

  private let shards: [Locked]
  private let half: Int

  init(budget: Int, shards count: Int = 8) {
    shards = (0..<max(1, count)).map { _ in Locked() }
    half = budget / max(1, count) / 2
  }

  private func shard(_ key: Key) -> Locked {
    shards[Int(UInt(bitPattern: key.hashValue) % UInt(shards.count))]
  }

  func value(_ key: Key) -> Value? {
    shard(key).shard.withLock { shard in
      if let found = shard.young[key] { return found.value }
      guard let found = shard.old.removeValue(forKey: key) else { return nil }
      put(key, found.value, found.cost, in: &shard)
      return found.value
    }
  }

  /// Inserts a value unless it costs more than a quarter of a shard.
  func insert(_ key: Key, _ value: Value, cost: Int) {
    guard cost <= half / 2 else { return }
    shard(key).shard.withLock { shard in
      guard shard.young[key] == nil else { return }
      put(key, value, cost, in: &shard)
    }
  }

  func removeAll() { for one in shards { one.shard.withLock { $0 = Shard() } } }

  private func put(_ key: Key, _ value: Value, _ cost: Int, in shard: inout Shard) {
    if shard.cost + cost > half {
      shard.old = shard.young
      shard.young = [:]
      shard.cost = 0
    }
    shard.young[key] = (value, cost)
    shard.cost += cost
  }
}
