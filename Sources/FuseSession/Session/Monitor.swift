import Glibc

/// A value behind a lock on which threads can wait for a condition.
@safe final class Monitor<State>: @unchecked Sendable {
  // `state` is touched only with `mutex` held.
  private var state: State
  // Pthread objects must not move, so they live on the heap for as long as this object.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  init(_ state: State) {
    self.state = state
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe condition.initialize(to: pthread_cond_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(condition, nil)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body(&state)
  }

  /// Waits until `condition` holds and then runs `body`, both with the lock held.
  func wait<Result>(
    until isReady: (State) -> Bool, _ body: (inout State) -> Result
  ) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while !isReady(state) { unsafe pthread_cond_wait(condition, mutex) }
    return body(&state)
  }

  func notifyAll() {
    unsafe pthread_cond_broadcast(condition)
  }
}
