import CFuse3
import Glibc

/// Answers getxattr and listxattr, with the size alone if the caller wants that.
package struct XattrReply: ~Copyable, FuseReply {
  private var token: ReplyToken
  /// The size of the caller's buffer; 0 asks for the size alone.
  package let room: Int

  init(_ request: fuse_req_t?, room: Int) {
    unsafe token = ReplyToken(request)
    self.room = room
  }

  package var request: RequestPointer { token.request }
  package mutating func markParked() { token.markParked() }
  package consuming func error(_ errno: Int32) { token.error(errno) }

  /// Answers with a value, or with names that each end with a zero; ERANGE if the buffer is too small.
  package consuming func value(_ bytes: borrowing [UInt8]) {
    let room = self.room
    unsafe token.finish { request in
      unsafe bytes.withUnsafeBytes { unsafe Self.send($0, room, request) }
    }
  }

  private static func send(
    _ bytes: UnsafeRawBufferPointer, _ room: Int, _ request: fuse_req_t?
  ) -> Int32 {
    if room == 0 { return unsafe fuse_reply_xattr(request, bytes.count) }
    guard bytes.count <= room else { return unsafe fuse_reply_err(request, ERANGE) }
    return unsafe fuse_reply_buf(
      request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
  }
}
