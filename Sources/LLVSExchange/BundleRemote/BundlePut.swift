import LLVSCore
import ObjectStores
internal import Platform

/// The PUT of a bundle that is written: at once, or on a thread of its own while the next is written.
/// - Concurrency: for one thread at a time.
final class BundlePut {
  private static let pool = WorkerPool(name: "llvs-put")

  /// The times of an answer in seconds since 1970: by this store's clock, and by the server's if it says.
  typealias Answer = (time: Int64, byServer: Int64?)

  private enum State: Sendable {
    case waits, runs
    case ended(Result<Answer, RemoteError>)

    var outcome: Result<Answer, RemoteError>? {
      guard case .ended(let outcome) = self else { return nil }
      return outcome
    }
  }

  let noted: NotedBundle
  /// The versions whose outlines it holds, and the bundles that it needs.
  let versions: [VersionRecord]
  let needs: Set<BundleName>
  let replaced: Set<BundleName>
  private let run: @Sendable () -> Result<Answer, RemoteError>
  private let state = Monitor(State.waits)

  init(
    _ noted: NotedBundle, _ bundle: OutgoingBundle, announcing replaced: Set<BundleName>,
    to objects: any ObjectStore, _ clock: BundleClock
  ) {
    self.noted = noted
    self.replaced = replaced
    (versions, needs) = (bundle.versions, bundle.needs)
    let (name, body) = (noted.name.object, bundle.body(noted.name))
    run = {
      Result { () throws(RemoteError) in
        try objects.put(name, body)
        return (clock.now(), objects.serverTime)
      }
    }
  }

  func begin() {
    state.withLock { $0 = .runs }
    let (run, state) = (run, state)
    BundlePut.pool.run {
      let outcome = run()
      state.withLock { $0 = .ended(outcome) }
      state.broadcast()
    }
  }

  /// Waits for the answer, after the PUT if that was not begun.
  func answered() throws(RemoteError) -> Answer {
    let isDue = state.withLock { state -> Bool in
      guard case .waits = state else { return false }
      state = .runs
      return true
    }
    if isDue {
      let outcome = run()
      state.withLock { $0 = .ended(outcome) }
      return try outcome.get()
    }
    guard let outcome = state.wait(nanoseconds: nil, until: { $0.outcome }) else {
      preconditionFailure("it waits without an end")
    }
    return try outcome.get()
  }

  deinit {
    // An exchange that ends for another reason leaves nothing running.
    guard state.withLock({ if case .runs = $0 { true } else { false } }) else { return }
    _ = state.wait(nanoseconds: nil, until: { $0.outcome })
  }
}
