internal import Foundation
import LLVSCore

/// Runs an exchange on a thread of its own, so that no thread of the concurrency pool waits for a
/// disk.
enum ExchangeThread {
  /// Runs work that blocks; cancelling the task asks it to stop.
  static func run<Result: Sendable>(
    _ body: @escaping @Sendable (ExchangeControl) throws -> Result
  ) async throws -> Result {
    let flag = Flag()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let thread = Thread {
          let control = ExchangeControl(isCancelled: { flag.isSet })
          continuation.resume(with: Swift.Result { try body(control) })
        }
        thread.stackSize = 8 << 20
        thread.start()
      }
    } onCancel: {
      flag.set()
    }
  }
}
