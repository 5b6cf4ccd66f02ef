internal import CShims
internal import Glibc

/// A lock with a condition variable: it guards state, and threads can wait for changes of it.
///
/// The class is usable from inline: without that the compiler inlines none of its methods into other modules.
/// - Concurrency: not recursive. `body` must not call anything that acquires the same monitor.
@usableFromInline @safe package final class Monitor<State>: @unchecked Sendable {
  // Unchecked: `state` is used only while `mutex` is held. Swift therefore need not check for overlapping accesses,
  // which cost as much as the lock.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  @exclusivity(unchecked) @usableFromInline var state: State

  package init(_ state: sending State) {
    unsafe self.state = state
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    // Time-outs use a clock that cannot be set.
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  /// Runs `body` with the lock held. Inlinable, so that callers in other modules need no closure and no result in
  /// memory.
  @inlinable @inline(__always)
  package func withLock<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try unsafe body(&state)
  }

  @usableFromInline func lock() { unsafe pthread_mutex_lock(mutex) }
  @usableFromInline func unlock() { unsafe pthread_mutex_unlock(mutex) }

  package func broadcast() { unsafe pthread_cond_broadcast(condition) }

  /// Wakes one waiting thread; enough if all wait for the same thing and only one can have it.
  package func signal() { unsafe pthread_cond_signal(condition) }

  /// Waits until `body`, which runs with the lock held, returns a result; nil after the time, if one is given.
  @inlinable
  package func wait<R, E: Error>(
    nanoseconds: UInt64? = nil, until body: (inout State) throws(E) -> R?
  ) throws(E) -> R? {
    lock()
    defer { unlock() }
    if let result = try unsafe body(&state) { return result }
    let deadline = nanoseconds.map(Deadline.init(nanoseconds:))
    while true {
      let isInTime = sleep(until: deadline)
      if let result = try unsafe body(&state) { return result }
      if !isInTime { return nil }
    }
  }

  /// Waits with the lock held for a signal; false after the time.
  @usableFromInline func sleep(until deadline: Deadline?) -> Bool {
    guard let deadline else {
      unsafe pthread_cond_wait(condition, mutex)
      return true
    }
    var time = timespec()
    (time.tv_sec, time.tv_nsec) = (deadline.seconds, deadline.nanoseconds)
    return unsafe pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
  }
}

/// A time at which a wait ends, by a clock that cannot be set.
@usableFromInline package struct Deadline {
  let seconds: Int
  let nanoseconds: Int

  @usableFromInline init(nanoseconds: UInt64) {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    let total = UInt64(now.tv_nsec) + nanoseconds % 1_000_000_000
    seconds = now.tv_sec + Int(nanoseconds / 1_000_000_000 + total / 1_000_000_000)
    self.nanoseconds = Int(total % 1_000_000_000)
  }
}
