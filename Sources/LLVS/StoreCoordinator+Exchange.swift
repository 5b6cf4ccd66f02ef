public import Foundation
import LLVSCore
internal import Synchronization

/// Exchanges the versions that a coordinator saves; the declarations have the names that they have
/// in the original LLVS.
///
/// Exchanges of one coordinator run one after the other, in the order of the calls.
extension StoreCoordinator {
  /// The exchange to use, and the number of exchanges that are under way or wait for one.
  struct Exchanging {
    var exchange: (any Exchange)?
    var count = 0
    /// The exchange that was asked for last; the next one waits for it.
    var last: Task<Void, any Error>?
  }

  /// The exchange that versions are retrieved and sent by; nil for none.
  public var exchange: (any Exchange)? {
    get { exchanging.withLock { $0.exchange } }
    set { exchanging.withLock { $0.exchange = newValue } }
  }

  /// The state that lets the exchange go on in another run of the program.
  public var exchangeRestorationData: Data? { exchange?.restorationState }

  /// True while an exchange is under way or waits for one.
  public var isExchanging: Bool { exchanging.withLock { $0.count > 0 } }

  /// Retrieves, then sends; the current version and all branches stay, nothing is merged.
  ///
  /// Does nothing where there is no ``exchange``. Cancelling the task stops the exchange; versions
  /// that have arrived by then stay.
  ///
  /// - Throws: the exchange's error, for example ``StoreError/unreachable(_:)``;
  ///   `CancellationError`.
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
  /// - Parameter completionHandler: called at the end, on any thread, with the error or nil.
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
