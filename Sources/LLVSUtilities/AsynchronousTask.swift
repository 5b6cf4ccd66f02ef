internal import Synchronization

/// Work that ends by calling a function, and may be followed by other work; new programs write `async`.
///
/// Unchecked: only the result changes after ``execute()``, under a lock.
public final class AsynchronousTask: @unchecked Sendable {
  public typealias Callback = (Result<Void, any Error>) -> Void

  /// The work; it calls its argument once, on any thread.
  public let executionBlock: (_ finish: @escaping Callback) -> Void
  public var completionBlock: Callback?
  /// The task to execute after the success of this one; after a failure it gets the same outcome.
  public var next: AsynchronousTask?
  // A leaf lock.
  private let outcome = Mutex<Result<Void, any Error>?>(nil)

  public init(_ block: @escaping (_ finish: @escaping Callback) -> Void) { executionBlock = block }
  public var result: Result<Void, any Error>? { outcome.withLock { $0 } }

  /// Begins the work; the task lives until it has ended.
  public func execute() {
    executionBlock { [self] outcome in end(outcome) }
  }

  private func end(_ outcome: Result<Void, any Error>) {
    var (task, isFirst): (AsynchronousTask?, Bool) = (self, true)
    // A failure ends all later tasks, without executing them.
    while let current = task {
      current.outcome.withLock { $0 = outcome }
      current.completionBlock?(outcome)
      task = current.next
      if case .success = outcome, isFirst {
        task?.execute()
        return
      }
      isFirst = false
    }
  }
}

extension Array where Element == AsynchronousTask {
  /// Makes each task the one before's ``AsynchronousTask/next``.
  public func chain() {
    for (task, next) in zip(self, dropFirst()) { task.next = next }
  }

  /// Executes the tasks one after the other, up to the first failure; the handler is called once.
  public func executeInOrder(
    completingWith completionHandler: @escaping AsynchronousTask.Callback
  ) {
    guard let first, let last else { return completionHandler(.success(())) }
    chain()
    last.completionBlock = completionHandler
    first.execute()
  }
}
