import Synchronization
import TreeNames

/// How much memory drafts may take together: they come from whoever may write, and nothing else holds them.
///
/// - Concurrency: any thread; a leaf lock.
final class MemoryBudget: Sendable {
  private let limit: Int
  private let used = Mutex(0)

  init(limit: Int) {
    self.limit = limit
  }

  /// What one file takes; given back when the file is gone.
  final class Charge: Sendable {
    private let budget: MemoryBudget
    private let size = Mutex(0)

    init(_ budget: MemoryBudget) {
      self.budget = budget
    }

    /// Makes room for a file to reach a size.
    ///
    /// - Throws: ``FSError/noSpace``.
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
