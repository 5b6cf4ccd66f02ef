internal import Dispatch
internal import Synchronization

/// Delivers the last state at the receiver's speed.
final class Latest<Output: Sendable>: Sendable {
  private let writer: DatabaseWriter
  private let fetch: @Sendable (Connection) throws -> Output
  private let receive: KeyValueDatabase.Publication<Output, any Error>.Receiver
  private let queue = DispatchQueue(label: "KeyValueCRDT.fetch")
  private let isDue = Atomic<Bool>(false)
  private let isEnded = Atomic<Bool>(false)

  init(
    _ writer: DatabaseWriter, _ fetch: @escaping @Sendable (Connection) throws -> Output,
    _ receive: @escaping KeyValueDatabase.Publication<Output, any Error>.Receiver
  ) {
    self.writer = writer
    self.fetch = fetch
    self.receive = receive
  }

  func schedule() {
    // A due reading will see this change too.
    guard !isDue.exchange(true, ordering: .sequentiallyConsistent) else { return }
    queue.async { [self] in deliver() }
  }

  private func deliver() {
    isDue.store(false, ordering: .sequentiallyConsistent)
    guard !isEnded.load(ordering: .sequentiallyConsistent) else { return }
    do {
      receive(.success(try writer.read(fetch)))
    } catch {
      isEnded.store(true, ordering: .sequentiallyConsistent)
      receive(.failure(error))
    }
  }

  func end() { isEnded.store(true, ordering: .sequentiallyConsistent) }
}
