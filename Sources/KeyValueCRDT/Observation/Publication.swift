internal import Dispatch
internal import Synchronization

extension KeyValueDatabase {
  /// Values that a database publishes when it changes, for `sink` or for `for await`.
  /// Each `sink` and each iteration is a subscription, which ends with its ``AnyCancellable`` or iteration.
  public struct Publication<Output: Sendable, Failure: Error>: Sendable {
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

    public var values: Publication { self }
  }
}

extension KeyValueDatabase.Publication where Failure == Never {
  /// Calls a function with each value, as the other form does.
  @preconcurrency
  public func sink(receiveValue: @escaping @Sendable (Output) -> Void)
    -> KeyValueDatabase.AnyCancellable
  {
    sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
  }
}

extension KeyValueDatabase.Publication: AsyncSequence {
  public typealias Element = Output

  public struct AsyncIterator: AsyncIteratorProtocol {
    private var results: AsyncStream<Result<Output, Failure>>.AsyncIterator

    fileprivate init(_ publication: KeyValueDatabase.Publication<Output, Failure>) {
      let (stream, continuation) = AsyncStream<Result<Output, Failure>>.makeStream()
      results = stream.makeAsyncIterator()
      let subscription = publication.subscribe { result in
        continuation.yield(result)
        if result.isFailure { continuation.finish() }
      }
      // Called when the iterator is freed or its task is cancelled.
      continuation.onTermination = { _ in subscription.cancel() }
    }

    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(Failure) -> Output? {
      guard let result = await results.next(isolation: actor) else { return nil }
      return try result.get()
    }

    public mutating func next() async throws(Failure) -> Output? {
      guard let result = await results.next() else { return nil }
      return try result.get()
    }
  }

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
