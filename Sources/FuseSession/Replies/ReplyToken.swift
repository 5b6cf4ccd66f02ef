// The one right to answer a request.
//
// INVARIANT 1: every request is answered once. A token is consumed by its answer; one that is
//   dropped answers EIO and, in debug builds, stops the program.
// INVARIANT 2: no request outlives its session. libfuse's threads are joined before the session is
//   destroyed, so a token may leave the thread of its request only inside a `ParkedReply`, which
//   the session counts and waits for.

import CFuse3
import Glibc

/// The libfuse request a reply belongs to.
@safe package struct RequestPointer: @unchecked Sendable {
  // A request may be answered from any thread (fuse_lowlevel.h); it is freed by its reply, which
  // consumes the only `ReplyToken` that holds it.
  let raw: fuse_req_t?

  var userData: SessionBox? {
    guard let pointer = unsafe fuse_req_userdata(raw) else { return nil }
    return unsafe Unmanaged<SessionBox>.fromOpaque(pointer).takeUnretainedValue()
  }
}

extension RequestPointer {
  /// Who made the request; only while it is not answered.
  package var caller: Caller {
    guard let context = unsafe fuse_req_ctx(raw) else {
      return Caller(uid: 0, gid: 0, pid: 0, umask: 0)
    }
    return unsafe Caller(
      uid: context.pointee.uid, gid: context.pointee.gid, pid: context.pointee.pid,
      umask: context.pointee.umask)
  }

  /// Whether the caller belongs to a group, also by its further groups; false once it has ended.
  ///
  /// Only while the request is not answered; reads /proc unless it is the first of its groups.
  package func isCallerMember(of group: UInt32) -> Bool {
    if caller.gid == group { return true }
    // 65536 is NGROUPS_MAX; most have few.
    for room in [64, 65_536] {
      let found: Bool? = unsafe withUnsafeTemporaryAllocation(of: gid_t.self, capacity: room) {
        let count = Int(unsafe fuse_req_getgroups(raw, Int32(room), $0.baseAddress))
        guard count <= room else { return nil }
        return unsafe $0.prefix(max(0, count)).contains(group)
      }
      if let found { return found }
    }
    return false
  }
}

/// What every reply can do.
package protocol FuseReply: ~Copyable, Sendable {
  /// Answers with an errno (a positive number; 0 is success where an operation has no result).
  consuming func error(_ errno: Int32)

  /// The request that is answered.
  var request: RequestPointer { get }

  /// Marks the reply as counted by its session.
  mutating func markParked()
}

extension FuseReply where Self: ~Copyable {
  /// Who made the request.
  package var caller: Caller { request.caller }

  /// True once the calling process was told to stop waiting.
  package var isInterrupted: Bool { unsafe fuse_req_interrupted(request.raw) != 0 }
}

struct ReplyToken: ~Copyable, @unchecked Sendable {
  let request: RequestPointer
  private var isParked = false

  init(_ request: fuse_req_t?) {
    unsafe self.request = RequestPointer(raw: request)
  }

  mutating func markParked() { isParked = true }

  /// Sends the answer that `send` makes; returns false if the request is no longer waited for.
  @discardableResult
  consuming func finish(_ send: (fuse_req_t?) -> Int32) -> Bool {
    let request = self.request
    let session = isParked ? request.userData : nil
    discard self
    let status = unsafe send(request.raw)
    session?.parked.settled()
    return status == 0
  }

  consuming func error(_ errno: Int32) {
    unsafe finish { unsafe fuse_reply_err($0, errno) }
  }

  deinit {
    let session = isParked ? request.userData : nil
    _ = unsafe fuse_reply_err(request.raw, EIO)
    session?.parked.settled()
    assertionFailure("A request was dropped without an answer.")
  }
}
