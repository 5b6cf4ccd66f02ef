// The right to answer a request, which exists once.
//
// INVARIANT 1: every request is answered once. Its answer consumes the token; a dropped token answers EIO and, in debug
// builds, stops the program.
// INVARIANT 2: no request outlives its session. libfuse's threads are joined before the session is destroyed, so a
// token leaves the thread of its request only inside a `ParkedReply`, for which the session waits.

import CFuse3
import Glibc

@safe package struct RequestPointer: @unchecked Sendable {
  // Any thread may answer a request (fuse_lowlevel.h). The only `ReplyToken` that holds it is consumed then.
  let raw: fuse_req_t?

  var userData: SessionBox? {
    guard let pointer = unsafe fuse_req_userdata(raw) else { return nil }
    return unsafe Unmanaged<SessionBox>.fromOpaque(pointer).takeUnretainedValue()
  }
}

extension RequestPointer {
  /// Valid only until the request is answered.
  package var caller: FuseCaller {
    guard let context = unsafe fuse_req_ctx(raw) else {
      return FuseCaller(uid: 0, gid: 0, pid: 0, umask: 0)
    }
    return unsafe FuseCaller(
      uid: context.pointee.uid, gid: context.pointee.gid, pid: context.pointee.pid,
      umask: context.pointee.umask)
  }

  /// True if the caller belongs to a group, also a supplementary one. Valid only until the answer; reads /proc
  /// unless it is the first group.
  package func isCallerMember(of group: UInt32) -> Bool {
    if caller.gid == group { return true }
    // 65536 is NGROUPS_MAX; most callers have few groups.
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

package protocol FuseReply: ~Copyable, Sendable {
  /// Answers with an errno: a positive number, or 0 for success of an operation without a result.
  consuming func error(_ errno: Int32)

  var request: RequestPointer { get }

  /// Marks the reply as counted among the session's parked requests.
  mutating func markParked()
}

extension FuseReply where Self: ~Copyable {
  package var caller: FuseCaller { request.caller }
}

struct ReplyToken: ~Copyable, @unchecked Sendable {
  let request: RequestPointer
  private var isParked = false

  init(_ request: fuse_req_t?) { unsafe self.request = RequestPointer(raw: request) }

  mutating func markParked() { isParked = true }

  /// Returns false if the request was aborted.
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
