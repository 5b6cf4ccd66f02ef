internal import Glibc
internal import Synchronization

/// SIGINT as a request: a command stops where it can, and reports what it has done.
/// - Concurrency: any thread.
package enum Interruption {
  // The handler of a signal may run while any lock is held, so it only stores a word.
  private static let requested = Atomic<Bool>(false)
  private static let watched = Atomic<Bool>(false)
  private static let answered = Atomic<Bool>(false)
  private static let patience: UInt64 = 900_000_000
  private static let glance: UInt64 = 50_000_000

  /// Makes SIGINT request the end and interrupt waiting system calls.
  ///
  /// After 0.9 s the program is in a call that cannot be interrupted: `farewell` is called, and the program ends by
  /// the signal's default, unless it has called ``answer()``. A second signal ends it too.
  package static func watch(_ farewell: @escaping @Sendable () -> Void = {}) {
    guard !watched.exchange(true, ordering: .relaxed) else { return }
    _ = requested.load(ordering: .relaxed)
    var old = sigaction()
    unsafe sigaction(SIGINT, nil, &old)
    // A background program may ignore the signal (sh(1), "Signals and Error Handling"): SIG_IGN is 1.
    let handler = unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: UInt.self)
    guard handler != 1 else { return }
    var action = sigaction()
    // Without SA_RESTART, so that a waiting call returns; with SA_RESETHAND the second signal ends the program.
    unsafe action.__sigaction_handler.sa_handler = { _ in
      Interruption.requested.store(true, ordering: .relaxed)
    }
    unsafe sigemptyset(&action.sa_mask)
    action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
    unsafe sigaction(SIGINT, &action, nil)
    // Without the thread only such a call cannot be ended.
    try? SystemThread.detach(name: "llvs-interrupt") {
      while !isRequested { SystemClock.sleep(nanoseconds: glance) }
      SystemClock.sleep(nanoseconds: patience)
      if answered.load(ordering: .relaxed) { return }
      farewell()
      end()
    }
  }

  package static var isRequested: Bool { requested.load(ordering: .relaxed) }

  /// Lets the program clean up, which may take any time, before it ends.
  package static func answer() { answered.store(true, ordering: .relaxed) }

  /// Ends the program by the signal, so that the shell that started it stops too.
  package static func end() {
    signal(SIGINT, SIG_DFL)
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGINT)
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    kill(getpid(), SIGINT)
  }
}
