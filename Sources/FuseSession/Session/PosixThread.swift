import CShims
import Glibc

/// A thread of the operating system.
struct PosixThread: ~Copyable {
  private let thread: pthread_t

  /// Starts a thread that must be joined.
  init(name: String, _ body: @escaping @Sendable () -> Void) throws(FuseError) {
    thread = try Self.start(name: name, body)
  }

  consuming func join() { pthread_join(thread, nil) }

  /// Starts a thread that nobody waits for.
  static func detach(name: String, _ body: @escaping @Sendable () -> Void) throws(FuseError) {
    pthread_detach(try start(name: name, body))
  }

  private final class Body {
    let name: String
    let run: @Sendable () -> Void
    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  private static func start(
    name: String, _ body: @escaping @Sendable () -> Void
  ) throws(FuseError) -> pthread_t {
    var thread = pthread_t()
    // Retained here, released by the thread.
    let box = unsafe Unmanaged.passRetained(Body(name: name, run: body))
    // Signals are for the program's own thread: here they would only disturb reads.
    var all = sigset_t()
    var old = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &old)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &old, nil) }
    let status = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        unsafe llvs_name_thread(body.name)
        // Who starts it may be kept on one processor (`Placement`); the first thread never is.
        _ = llvs_let_thread_roam(0, getpid())
        body.run()
        return nil
      }, box.toOpaque())
    guard status == 0 else {
      unsafe box.release()
      throw FuseError.system(call: "pthread_create", errno: status)
    }
    return thread
  }
}
