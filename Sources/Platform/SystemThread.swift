internal import CShims
internal import Glibc

/// A thread of the operating system, for work that blocks; every signal is blocked in it.
package struct SystemThread: ~Copyable {
  private let thread: pthread_t

  /// Starts a thread that must be joined; /proc shows the first 15 bytes of `name`.
  ///
  /// - Throws: EAGAIN when there are too many threads.
  package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    thread = try Self.start(name: name, body)
  }

  /// Waits until it has ended.
  package consuming func join() { pthread_join(thread, nil) }

  /// Starts a thread that nobody waits for.
  ///
  /// - Throws: EAGAIN when there are too many threads.
  package static func detach(
    name: String? = nil, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    pthread_detach(try start(name: name, body))
  }

  private final class Body {
    let name: String?
    let run: @Sendable () -> Void
    init(name: String?, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  private static func start(
    name: String?, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) -> pthread_t {
    var thread = pthread_t()
    // Retained here, released by the thread.
    let box = unsafe Unmanaged.passRetained(Body(name: name, run: body))
    // Signals are for the program's own thread: here they would only disturb reads.
    var all = sigset_t()
    var old = sigset_t()
    unsafe sigfillset(&all)
    // But for what a thread brings on itself: the kernel would not call who wants to know of a crash.
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] {
      unsafe sigdelset(&all, fault)
    }
    unsafe pthread_sigmask(SIG_SETMASK, &all, &old)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &old, nil) }
    let status = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        if let name = body.name { unsafe llvs_name_thread(name) }
        // A thread may be started by one that is kept on a processor; it is not to stay there.
        _ = llvs_let_thread_roam(0, getpid())
        body.run()
        return nil
      }, box.toOpaque())
    guard status == 0 else {
      unsafe box.release()
      throw SystemError(errno: status, call: "pthread_create")
    }
    return thread
  }
}

/// Signals that a thread of our own takes.
package enum Signals {
  /// SIGTERM, SIGINT and SIGHUP: requests to end.
  package static let endings: [Int32] = [SIGTERM, SIGINT, SIGHUP]

  /// Blocks signals in this thread and all that it starts; call before the first is started.
  package static func block(_ signals: [Int32]) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    // A peer that goes away while it is written to is an error of the write, not an end.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Waits for one of the signals, which must be blocked, and returns it.
  package static func wait(for signals: [Int32]) -> Int32 {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    var taken: Int32 = 0
    while unsafe sigwait(&set, &taken) != 0 {}
    return taken
  }
}
