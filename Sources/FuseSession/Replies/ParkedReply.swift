// Lock order: ParkedReply.reply and ParkedRequests.state are never held together, nor while a reply is sent or a
// handler runs.

import CFuse3
import Glibc
import Synchronization

/// A reply that another thread answers later. The first thread that takes the reply answers it.
/// - Concurrency: Callable from any thread.
package final class ParkedReply<Reply: FuseReply & ~Copyable>: Sendable {
  private let reply: Mutex<Reply?>
  private let number: UInt64
  private let requests: ParkedRequests?

  /// `onInterrupt` is called at most once, on a thread of the session, when a signal asks the caller to stop
  /// waiting (SIGINT, SIGTERM, SIGHUP, SIGQUIT or SIGKILL) or the session ends; it may still run after the reply
  /// was taken. It may take the reply and answer EINTR. The end of the session waits until the reply is answered.
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
    // libfuse gets the number, not an object: its thread may call back while another thread answers this reply, and an
    // unknown number does nothing. No thread can answer before the handler is added, so the request exists here.
    unsafe fuse_req_interrupt_func(
      request.raw, noteInterrupt, UnsafeMutableRawPointer(bitPattern: UInt(number)))
    requests?.add(number, caller: caller) { [weak self] in
      guard let self else { return }
      onInterrupt(self)
    }
  }

  package func take() -> Reply? {
    requests?.remove(number)
    return reply.withLock { $0.take() }
  }
}

// Called with the request's lock held (fuse_lowlevel.c), which an answer would free: only the number is recorded.
private let noteInterrupt: @convention(c) (fuse_req_t?, UnsafeMutableRawPointer?) -> Void = {
  request, data in
  unsafe RequestPointer(raw: request).userData?.parked.interrupt(UInt64(UInt(bitPattern: data)))
}
