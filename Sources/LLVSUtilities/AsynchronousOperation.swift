public import Foundation
internal import Synchronization

/// An operation that ends when ``end()`` is called; new programs write `async`.
///
/// Unchecked: the state is under a lock, and an operation's closures are set before it starts.
open class AsynchronousOperation: Operation, @unchecked Sendable {
  private enum State { case waiting, executing, finished }

  // A leaf lock.
  private let state = Mutex(State.waiting)
  /// The work; it calls ``end()`` once, on any thread.
  public var beginBlock: (() -> Void)?
  public var endBlock: (() -> Void)?

  open override var isFinished: Bool { state.withLock { $0 } == .finished }
  open override var isExecuting: Bool { state.withLock { $0 } == .executing }
  open override var isAsynchronous: Bool { true }

  open override func start() {
    state.withLock { $0 = .executing }
    begin()
  }

  /// Executes ``beginBlock``, or without one `main`, which is the whole work.
  open func begin() {
    if let beginBlock { return beginBlock() }
    main()
    end()
  }

  open func end() {
    guard isExecuting else { return }
    endBlock?()
    (beginBlock, endBlock) = (nil, nil)
    willChangeValue(for: \.isFinished)
    state.withLock { $0 = .finished }
    didChangeValue(for: \.isFinished)
  }
}

extension OperationQueue {
  /// Adds work that calls its argument at its end.
  @preconcurrency
  public func addAsynchronousOperation(_ block: @escaping @Sendable (@escaping () -> Void) -> Void)
  {
    let operation = AsynchronousOperation()
    operation.beginBlock = { [unowned operation] in block(operation.end) }
    addOperation(operation)
  }
}
