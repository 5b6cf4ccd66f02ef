package import Platform
import Synchronization

/// A thread of a test, which is waited for.
package final class TestThread: Sendable {
  private let isDone = Monitor(false)

  /// Starts it.
  package init(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    try SystemThread.detach { [isDone] in
      body()
      isDone.withLock { $0 = true }
      isDone.broadcast()
    }
  }

  /// Waits for its end.
  package func join() { isDone.wait { $0 ? () : nil } }
}
