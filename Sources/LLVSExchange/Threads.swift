import LLVSCore
internal import Platform
internal import Synchronization

/// The threads of exchanges.
package enum Threads {
  /// Helpers for work that keeps a processor busy.
  static let computing = ForkJoin(name: "llvs-exchange")
  /// Helpers for work that mostly waits for a disk or a remote, while its caller computes.
  static let publishing = ForkJoin(name: "llvs-publish")
  private static let pool = WorkerPool(name: "llvs-exchange")

  /// Runs an exchange on a thread of its own, so that no thread of the concurrency pool waits for a
  /// disk; cancelling the task asks the exchange to stop.
  package static func run<Result: Sendable>(
    _ body: @escaping @Sendable (ExchangeControl) throws -> Result
  ) async throws -> Result {
    let flag = Flag()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        pool.run {
          let control = ExchangeControl(isCancelled: { flag.isSet })
          continuation.resume(with: Swift.Result { try body(control) })
        }
      }
    } onCancel: {
      flag.set()
    }
  }
}

/// A flag that is set once, from any thread.
final class Flag: Sendable {
  private let value = Atomic<Bool>(false)

  var isSet: Bool { value.load(ordering: .relaxed) }

  func set() { value.store(true, ordering: .relaxed) }
}
