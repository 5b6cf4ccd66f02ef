internal import Synchronization

/// A cache in generations: a used value moves to the newest, and the oldest is dropped.
/// - Concurrency: callable from any thread.
public final class Cache<ValueType> {
  /// Unchecked: values are stored and returned, never shared by the cache itself.
  private struct Generations: @unchecked Sendable {
    /// The newest first; never empty.
    var all: [[AnyHashable: ValueType]]
  }

  public let numberOfGenerations: Int
  /// A generation with more values is followed by a new one.
  public let regenerationLimit: Int
  // A leaf lock.
  private let generations: Mutex<Generations>

  /// Creates an empty cache; both numbers are at least 1.
  public init(numberOfGenerations: Int = 2, regenerationLimit: Int = 1000) {
    self.numberOfGenerations = max(1, numberOfGenerations)
    self.regenerationLimit = max(1, regenerationLimit)
    generations = Mutex(Generations(all: [[:]]))
  }

  private struct Box: @unchecked Sendable {
    var key: AnyHashable
    var value: ValueType?
  }

  public func setValue(_ value: ValueType, for identifier: AnyHashable) {
    let box = Box(key: identifier, value: value)
    generations.withLock { generations in
      if generations.all[0].count > regenerationLimit {
        generations.all.insert([:], at: 0)
        generations.all.removeLast(max(0, generations.all.count - numberOfGenerations))
      }
      generations.all[0][box.key] = box.value
    }
  }

  /// Returns the value under a key; nil if it was dropped or never set.
  public func value(for identifier: AnyHashable) -> ValueType? {
    let key = Box(key: identifier, value: nil)
    let found = generations.withLock { generations -> Box in
      for (age, generation) in generations.all.enumerated() {
        guard let value = generation[key.key] else { continue }
        if age > 0 { generations.all[0][key.key] = value }
        return Box(key: key.key, value: value)
      }
      return key
    }
    return found.value
  }

  public func removeValue(for identifier: AnyHashable) {
    let key = Box(key: identifier, value: nil)
    generations.withLock { generations in
      for age in generations.all.indices { generations.all[age][key.key] = nil }
    }
  }

  public func purgeAllValues() {
    generations.withLock { $0.all = [[:]] }
  }
}

extension Cache: Sendable where ValueType: Sendable {}
