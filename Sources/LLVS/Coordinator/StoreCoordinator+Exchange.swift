public import Foundation
internal import Synchronization

/// Exchanges run one at a time, in the order of the calls.
struct ExchangeQueue {
  var count = 0
  var last: Task<Void, any Error>?
  var retrieval: Retrieval?
}

extension StoreCoordinator {
  /// The exchange for retrieving and sending; it gets the state of its last use.
  public var exchange: (any Exchange)? {
    get { settings.withLock { $0 }.exchange }
    set {
      if let kept = current.withLock({ $0.exchangeRestorationData }) {
        newValue?.restorationState = kept
      }
      let new = Settings(exchange: newValue)
      settings.withLock { $0.exchange = new.exchange }
    }
  }

  public var exchangeRestorationData: Data? { exchange?.restorationState }
  public var isExchanging: Bool { exchanges.withLock { $0.count > 0 } }

  /// The versions that the last exchange retrieved and those that it left out; nil before the first one.
  public var lastRetrieval: Retrieval? { exchanges.withLock { $0.retrieval } }

  /// Retrieves, then sends; the current version and all branches stay unchanged.
  ///
  /// Does nothing without an ``exchange``. Versions that arrived before a failure stay. ``lastRetrieval`` names
  /// versions that were left out.
  /// - Throws: the exchange's error; `CancellationError`.
  public func exchange(isolation: isolated (any Actor)? = #isolation) async throws {
    let task = beginExchange()
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Begins an exchange; the function gets the error or nil, on any thread.
  @preconcurrency
  public func exchange(
    executingUponCompletion completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    let task = beginExchange()
    Task {
      switch await task.result {
      case .success: completionHandler(nil)
      case .failure(let error): completionHandler(error)
      }
    }
  }

  private func beginExchange() -> Task<Void, any Error> {
    exchanges.withLock { queue in
      let before = queue.last
      queue.count += 1
      let task = Task { [self] in
        _ = await before?.result
        defer { exchanges.withLock { $0.count -= 1 } }
        try Task.checkCancellation()
        let settings = settings.withLock { $0 }
        guard settings.exchange != nil else { return }
        try await run(settings)
      }
      queue.last = task
      return task
    }
  }

  private func run(_ settings: Settings) async throws {
    guard let exchange = settings.exchange else { return }
    let retrieval = try await exchange.retrieval()
    exchanges.withLock { $0.retrieval = retrieval }
    _ = try await exchange.send()
    let data = exchange.restorationState
    let changed = current.withLock { state -> CoordinatorState? in
      guard state.exchangeRestorationData != data else { return nil }
      state.exchangeRestorationData = data
      return state
    }
    if let changed { keep(changed) }
    guard let snapshots = exchange as? any SnapshotExchange else { return }
    do {
      try await sendSnapshotIfDue(by: snapshots)
    } catch {
      // The versions were exchanged; a snapshot only saves new devices work.
      log.error("The snapshot cannot be sent: \(error)")
    }
  }
}
