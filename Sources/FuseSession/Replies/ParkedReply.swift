// Requests that are answered later, from another thread.
//
// Lock order: ParkedReply.reply and ParkedRequests.state are never held together, nor while a reply
// is sent or a handler runs.

import CFuse3
import Glibc
import Synchronization

/// A reply that waits for its answer, while its caller may be interrupted and its session may end.
///
/// Whoever takes the reply first answers it; everybody else finds nothing.
///
/// - Concurrency: Callable from any thread.
package final class ParkedReply<Reply: FuseReply & ~Copyable>: Sendable {
  private let reply: Mutex<Reply?>
  private let number: UInt64
  private let requests: ParkedRequests?

  /// Parks a reply.
  ///
  /// `onInterrupt` is called at most once, on a thread of the session's own, when the caller was
  /// told to stop waiting (by SIGINT, SIGTERM, SIGHUP, SIGQUIT or SIGKILL) or the session ends; never after the reply was taken, except
  /// that it may be running at that moment. It may take the reply and answer EINTR, or do nothing
  /// while the session goes on; the session's end waits until the reply is answered.
  package init(
    _ reply: consuming Reply,
    onInterrupt: @escaping @Sendable (ParkedReply<Reply>) -> Void = { $0.take()?.error(EINTR) }
  ) {
    let request = reply.request
    let caller = request.caller.pid
    let requests = request.userData?.parked
    self.requests = requests
    if requests != nil { reply.markParked() }
    number = requests?.announce() ?? 0
    self.reply = Mutex(reply)
    // The number, not an object, goes to libfuse: its thread may call back while this reply is
    // being answered elsewhere, and a number that is not known any more does nothing. Before the
    // handler is known nobody else can answer, so the request is still there.
    unsafe fuse_req_interrupt_func(
      request.raw, noteInterrupt, UnsafeMutableRawPointer(bitPattern: UInt(number)))
    requests?.add(number, caller: caller) { [weak self] in
      guard let self else { return }
      onInterrupt(self)
    }
  }

  /// Takes the reply out, or nothing if it was taken before.
  package func take() -> Reply? {
    requests?.remove(number)
    return reply.withLock { $0.take() }
  }
}

// Called with the request's lock held (fuse_lowlevel.c), so that answering here would free the lock
// that is about to be released: only the number is put down.
private let noteInterrupt: @convention(c) (fuse_req_t?, UnsafeMutableRawPointer?) -> Void = {
  request, data in
  unsafe RequestPointer(raw: request).userData?.parked.interrupt(UInt64(UInt(bitPattern: data)))
}
