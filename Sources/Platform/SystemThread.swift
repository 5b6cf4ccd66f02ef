internal import CShims
internal import Glibc

/// A thread of the operating system, for work that blocks; every signal is blocked in it.
package struct SystemThread: ~Copyable {
  private let thread: pthread_t

  /// Starts a thread that must be joined; /proc shows 15 bytes of `name`. EAGAIN: too many threads.
  package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    thread = try Self.start(name: name, body)
  }

  package consuming func join() { pthread_join(thread, nil) }

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
    // Signals are handled by the program's own threads; here they would only interrupt reads.
    var all = sigset_t()
    var old = sigset_t()
    unsafe sigfillset(&all)
    // Otherwise a handler of crashes would not be called.
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
        body.run()
        return nil
      }, box.toOpaque())
    guard status == 0 else {
      unsafe box.release()
      throw SystemError(errno: status, call: "pthread_create")
    }
    return thread
  }

  package static var current: UInt { pthread_self() }

  /// Gives the calling thread the lowest priority, for work that no thread waits for.
  package static func yieldToOthers() {
    // In Linux a priority belongs to a thread, and 0 is the calling one (setpriority(2)). A failure does no harm.
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
  }

  /// gettid(2).
  package static var kernelID: Int32 { llvs_thread_id() }
}

package enum Signals {
  package static let endings: [Int32] = [SIGTERM, SIGINT, SIGHUP]

  /// Blocks signals in this thread and in all that it starts; call before starting the first.
  package static func block(_ signals: [Int32]) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    // Writing to a closed connection must fail with EPIPE, not end the process.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Waits for one of the signals, which must be blocked, and returns it.
  package static func wait(for signals: [Int32]) -> Int32 {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    var received: Int32 = 0
    while unsafe sigwait(&set, &received) != 0 {}
    return received
  }

  /// Enables ``interrupt(thread:)``; from then on SIGALRM only interrupts system calls.
  package static func admitInterrupts() {
    signal(SIGALRM, { _ in })
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGALRM)
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  /// Interrupts the system call that a thread (``SystemThread/kernelID``) waits in, if it exists.
  package static func interrupt(thread: Int32) { _ = llvs_signal_thread(thread, SIGALRM) }
}
