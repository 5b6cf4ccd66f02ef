import Synchronization
import TreeNames

/// The limit on the memory of all drafts together, because every user may make some.
/// - Concurrency: any thread; a leaf lock.
final class MemoryBudget: Sendable {
  private let limit: Int
  private let used = Mutex(0)

  init(limit: Int) { self.limit = limit }

  final class Charge: Sendable {
    private let budget: MemoryBudget
    private let size = Mutex(0)

    init(_ budget: MemoryBudget) { self.budget = budget }

    /// Reserves memory for a file that grows to a size; throws ``FSError/noSpace`` if too little is left.
    func reach(_ wanted: Int) throws(FSError) {
      try size.withLock { size throws(FSError) in
        let more = wanted - size
        guard more > 0 else { return }
        try budget.used.withLock { used throws(FSError) in
          guard more <= budget.limit - used else { throw .noSpace }
          used += more
        }
        size = wanted
      }
    }

    deinit {
      let size = self.size.withLock { $0 }
      budget.used.withLock { $0 -= size }
    }
  }
}
