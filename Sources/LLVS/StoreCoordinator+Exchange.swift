public import Foundation
import LLVSCore
internal import Synchronization

/// Exchanging what a coordinator saves: the names of the original.
///
/// Exchanges of one coordinator run one after the other, in the order asked for.
extension StoreCoordinator {
  /// What is exchanged with, and how many exchanges are under way.
  struct Exchanging {
    var exchange: (any Exchange)?
    var count = 0
    /// The exchange asked for last, which the next waits for.
    var last: Task<Void, any Error>?
  }

  /// What the coordinator exchanges with; nil for nothing.
  public var exchange: (any Exchange)? {
    get { exchanging.withLock { $0.exchange } }
    set { exchanging.withLock { $0.exchange = newValue } }
  }

  /// What the exchange needs to go on in another run of the program.
  public var exchangeRestorationData: Data? { exchange?.restorationState }

  /// Whether an exchange is under way.
  public var isExchanging: Bool { exchanging.withLock { $0.count > 0 } }

  /// Retrieves, then sends; neither the current version nor any branch changes, and nothing is merged.
  ///
  /// Does nothing where there is no ``exchange``. Cancelling the task stops it; versions that came by then stay.
  ///
  /// - Throws: what the exchange throws, among it ``StoreError/unreachable(_:)``; `CancellationError`.
  public func exchange(isolation: isolated (any Actor)? = #isolation) async throws {
    let task = beginExchange()
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Begins to retrieve and then to send, and returns at once.
  ///
  /// - Parameter completionHandler: called at the end, from any thread, with the error if there was one.
  public func exchange(
    executingUponCompletion completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
  ) {
    let task = beginExchange()
    Task {
      switch await task.result {
      case .success: completionHandler?(nil)
      case .failure(let error): completionHandler?(error)
      }
    }
  }

  private func beginExchange() -> Task<Void, any Error> {
    exchanging.withLock { state in
      let before = state.last
      state.count += 1
      let task = Task { [self] in
        _ = await before?.result
        defer { exchanging.withLock { $0.count -= 1 } }
        try Task.checkCancellation()
        guard let exchange else { return }
        _ = try await exchange.retrieve()
        _ = try await exchange.send()
      }
      state.last = task
      return task
    }
  }
}
