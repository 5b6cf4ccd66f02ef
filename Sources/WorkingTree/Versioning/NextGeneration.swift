import LLVSCore
import Platform
import TreeNames

/// The journal's next generation, made ready before a version: the mark of the cut is brought to the disk,
/// and a file with room for what follows.
///
/// For a version that takes long it happens aside, while the version is made: the disk's part of a cut of
/// 5,000 files is 20 to 40 ms of 190.
///
/// - Concurrency: ``wait()`` and what follows from one thread.
final class NextGeneration: Sendable {
  /// From so many changed names on a thread of its own pays.
  static let longPlan = 256

  private let outcome = Monitor<Result<Journal.Preparation, FSError>?>(nil)

  /// Begins; if `aside` is false, it is done when this returns.
  init(of tree: LiveTree, aside: Bool) {
    let outcome = outcome
    let work: @Sendable () -> Void = {
      let preparation = Result { () throws(FSError) in
        try tree.journal.prepareGeneration(expecting: tree.checkpointEstimate()) {
          tree.checkpointSize()
        }
      }
      outcome.withLock { $0 = preparation }
      outcome.broadcast()
    }
    if aside { tree.journal.workers.run(work) } else { work() }
  }

  private func result() -> Result<Journal.Preparation, FSError> {
    guard let result = outcome.wait(until: { $0 }) else {
      preconditionFailure("a wait without a time limit ends with a result")
    }
    return result
  }

  /// Waits until it is ready.
  ///
  /// - Throws: whatever preparing it threw.
  func wait() throws(StoreError) {
    try StoreError.wrapping { () throws(FSError) in _ = try result().get() }
  }

  /// What was made ready; nil where it could not be.
  var prepared: Journal.Preparation? { try? result().get() }

  /// Gives it up, once it is ready.
  func discard(from journal: Journal) {
    if let prepared { journal.discard(prepared) }
  }
}
