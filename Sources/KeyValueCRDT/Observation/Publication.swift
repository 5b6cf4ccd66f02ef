internal import Dispatch
internal import Synchronization

/// Values that a database publishes when it changes, for `sink` or for `for await`.
///
/// Each `sink` and each iteration is a subscription, which ends with its ``AnyCancellable`` or iteration.
public struct Publication<Output: Sendable, Failure: Error>: Sendable {
  /// The end of a publication.
  public enum Completion: Sendable {
    case finished
    case failure(Failure)
  }

  /// Called on any thread, one call after the other.
  typealias Receiver = @Sendable (Result<Output, Failure>) -> Void

  private let subscribe: @Sendable (@escaping Receiver) -> AnyCancellable

  init(_ subscribe: @escaping @Sendable (@escaping Receiver) -> AnyCancellable) {
    self.subscribe = subscribe
  }

  /// Calls a function with each value, one after the other, on a queue of the subscription.
  ///
  /// The completion is called once if the publication ends by itself. The result ends the subscription.
  @preconcurrency
  public func sink(
    receiveCompletion: @escaping @Sendable (Completion) -> Void,
    receiveValue: @escaping @Sendable (Output) -> Void
  ) -> AnyCancellable {
    let queue = DispatchQueue(label: "KeyValueCRDT.sink")
    let state = SinkState()
    let source = subscribe { result in
      queue.async {
        guard state.isOpen(endsNow: result.isFailure) else { return }
        switch result {
        case .success(let value): receiveValue(value)
        case .failure(let error): receiveCompletion(.failure(error))
        }
      }
    }
    return AnyCancellable {
      state.close()
      source.cancel()
    }
  }

  /// The values, to iterate over: the publication itself.
  public var values: Publication { self }
}

extension Publication where Failure == Never {
  /// Calls a function with each value, as the other form does.
  @preconcurrency
  public func sink(receiveValue: @escaping @Sendable (Output) -> Void) -> AnyCancellable {
    sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
  }
}

extension Publication: AsyncSequence {
  /// A value.
  public typealias Element = Output

  /// The state of one iteration.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var results: AsyncStream<Result<Output, Failure>>.AsyncIterator

    fileprivate init(_ publication: Publication) {
      let (stream, continuation) = AsyncStream<Result<Output, Failure>>.makeStream()
      results = stream.makeAsyncIterator()
      let subscription = publication.subscribe { result in
        continuation.yield(result)
        if result.isFailure { continuation.finish() }
      }
      // Called when the iterator is freed or its task is cancelled.
      continuation.onTermination = { _ in subscription.cancel() }
    }

    /// Waits for the next value; nil after the last, and when the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(Failure) -> Output? {
      guard let result = await results.next(isolation: actor) else { return nil }
      return try result.get()
    }

    /// Waits for the next value; nil after the last, and when the task is cancelled.
    public mutating func next() async throws(Failure) -> Output? {
      guard let result = await results.next() else { return nil }
      return try result.get()
    }
  }

  /// Begins a subscription.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension Result {
  fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}

private final class SinkState: Sendable {
  private let isOpen = Atomic<Bool>(true)

  func close() { isOpen.store(false, ordering: .sequentiallyConsistent) }

  func isOpen(endsNow: Bool) -> Bool {
    endsNow
      ? isOpen.exchange(false, ordering: .sequentiallyConsistent)
      : isOpen.load(ordering: .sequentiallyConsistent)
  }
}
