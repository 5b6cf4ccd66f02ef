import LLVSCore
internal import ObjectStores
internal import Platform
internal import Synchronization

package enum Threads {
  static let computing = ForkJoin(name: "llvs-exchange")
  /// Helpers for work that mostly waits for a disk or a remote, while its caller computes.
  static let publishing = ForkJoin(name: "llvs-publish")
  private static let pool = WorkerPool(name: "llvs-exchange")

  /// Maps 0 to `count` on `width` threads where the body waits for a remote, else on one per processor.
  static func map<Value>(
    _ count: Int, width: Int, _ body: @escaping (Int) throws(StoreError) -> Value
  ) throws(StoreError) -> [Value] {
    guard width > 2 else { return try computing.map(count, body) }
    // Each value is kept under the lock; a body that may run on two threads may hand its value over.
    nonisolated(unsafe) var values: [(index: Int, value: Value)] = []
    let turn = Mutex(())
    try RequestThreads.each(count, width: width) { (index) throws(StoreError) in
      let value = try body(index)
      turn.withLock { _ in values.append((index, value)) }
    }
    return values.sorted { $0.index < $1.index }.map(\.value)
  }

  /// Runs an exchange on a thread of its own; cancelling the task asks it to stop.
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
