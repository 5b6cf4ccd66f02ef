internal import Glibc
internal import Synchronization

/// SIGINT, SIGTERM or SIGHUP as a request: a command stops where it can, and reports what it has done.
/// - Concurrency: any thread.
package enum Interruption {
  // The handler of a signal may run while any lock is held, so it only stores a word.
  /// The signal; 0 before one comes.
  private static let requested = Atomic<Int32>(0)
  private static let watched = Atomic<Bool>(false)
  private static let answered = Atomic<Bool>(false)
  private static let patience: UInt64 = 900_000_000
  private static let glance: UInt64 = 50_000_000

  /// Makes the signals request the end and interrupt waiting system calls.
  ///
  /// After 0.9 s the program is in a call that cannot be interrupted: `farewell` is called, and the program ends by
  /// the signal's default, unless it has called ``answer()``. A second signal ends it too.
  package static func watch(_ farewell: @escaping @Sendable () -> Void = {}) {
    guard !watched.exchange(true, ordering: .relaxed) else { return }
    _ = requested.load(ordering: .relaxed)
    for signal in Signals.endings where !isIgnored(signal) {
      var action = sigaction()
      // Without SA_RESTART, so that a waiting call returns; with SA_RESETHAND the second signal ends the program.
      unsafe action.__sigaction_handler.sa_handler = { signal in
        Interruption.requested.store(signal, ordering: .relaxed)
      }
      unsafe sigemptyset(&action.sa_mask)
      action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
      unsafe sigaction(signal, &action, nil)
    }
    // Without the thread only such a call cannot be ended.
    try? SystemThread.detach(name: "llvs-interrupt") {
      while !isRequested { SystemClock.sleep(nanoseconds: glance) }
      SystemClock.sleep(nanoseconds: patience)
      if answered.load(ordering: .relaxed) { return }
      farewell()
      end()
    }
  }

  package static var isRequested: Bool { requested.load(ordering: .relaxed) != 0 }

  /// True for a signal that a background program, or one of nohup(1), ignores (sh(1), "Signals and Error Handling").
  private static func isIgnored(_ signal: Int32) -> Bool {
    var old = sigaction()
    unsafe sigaction(signal, nil, &old)
    // SIG_IGN is 1.
    return unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: UInt.self) == 1
  }

  /// Lets the program clean up, which may take any time, before it ends.
  package static func answer() { answered.store(true, ordering: .relaxed) }

  /// Ends the program by the signal, so that the shell that started it stops too.
  package static func end() {
    let ending = requested.load(ordering: .relaxed)
    signal(ending, SIG_DFL)
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, ending)
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    kill(getpid(), ending)
  }
}
