import Synchronization
import TreeNames

/// The memory that all drafts together may use: every user who may write can make drafts, and only
/// memory holds them.
///
/// - Concurrency: any thread; a leaf lock.
final class MemoryBudget: Sendable {
  private let limit: Int
  private let used = Mutex(0)

  init(limit: Int) {
    self.limit = limit
  }

  /// The memory of one file; returned when the file is released.
  final class Charge: Sendable {
    private let budget: MemoryBudget
    private let size = Mutex(0)

    init(_ budget: MemoryBudget) {
      self.budget = budget
    }

    /// Reserves memory for a file that grows to a size.
    ///
    /// - Throws: ``FSError/noSpace`` if the budget has not enough left.
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
