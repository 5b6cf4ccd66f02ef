public import Foundation
internal import Synchronization

/// The exchanges of a coordinator run one after the other, in the order of the calls.
struct ExchangeQueue {
  /// The exchanges that run or wait.
  var count = 0
  /// The exchange that was asked for last; the next one waits for it.
  var last: Task<Void, any Error>?
}

extension StoreCoordinator {
  /// The exchange that versions are retrieved and sent by; nil for none.
  ///
  /// It gets the state that it had when it was used last.
  public var exchange: (any Exchange)? {
    get { settings.withLock { $0 }.exchange }
    set {
      if let kept = current.withLock({ $0.exchangeRestorationData }) {
        newValue?.restorationState = kept
      }
      var box = Settings()
      box.exchange = newValue
      let new = box
      settings.withLock { $0.exchange = new.exchange }
    }
  }

  /// The state that lets the exchange go on in another run of the program.
  public var exchangeRestorationData: Data? { exchange?.restorationState }

  /// True while an exchange is under way or waits for one.
  public var isExchanging: Bool { exchanges.withLock { $0.count > 0 } }

  /// Retrieves, then sends; the current version and all branches stay, nothing is merged.
  ///
  /// Does nothing if there is no ``exchange``. Cancelling the task stops the exchange; versions
  /// that have arrived by then stay.
  ///
  /// - Throws: the exchange's error; `CancellationError`.
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
    _ = try await exchange.retrieve()
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
      // The versions are exchanged; a snapshot only spares new devices work.
      log.error("The snapshot cannot be sent: \(error)")
    }
  }
}
