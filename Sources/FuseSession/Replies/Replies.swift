import CFuse3
import Glibc

/// The results that a ``Reply`` sends.
package enum Answers {
  package enum Nothing {}
  package enum Entry {}
  package enum Attributes {}
  package enum Open {}
  package enum Create {}
  package enum Write {}
  package enum Offset {}
  package enum Statistics {}
  package enum Bytes {}
}

/// Answers a request once, with a result or an error.
package struct Reply<Answer>: ~Copyable, FuseReply {
  var token: ReplyToken
  init(_ request: fuse_req_t?) { unsafe token = ReplyToken(request) }
  package var request: RequestPointer { token.request }
  package mutating func markParked() { token.markParked() }
  package consuming func error(_ errno: Int32) { token.error(errno) }
}

package typealias EmptyReply = Reply<Answers.Nothing>

extension EmptyReply {
  package consuming func done() { token.error(0) }
}

/// Answers with a node, for lookup, mknod, mkdir, symlink and link.
package typealias EntryReply = Reply<Answers.Entry>

extension EntryReply {
  /// The caller has raised its look-up count before, since a FORGET may come at once.
  /// - Returns: False if the request was aborted: the kernel does not count this look-up.
  @discardableResult
  package consuming func entry(_ entry: borrowing EntryAttributes) -> Bool {
    var parameters = entry.parameters
    return unsafe token.finish { unsafe fuse_reply_entry($0, &parameters) }
  }
}

package typealias AttributesReply = Reply<Answers.Attributes>

extension AttributesReply {
  /// The kernel may keep the attributes for `timeout` seconds.
  package consuming func attributes(_ attributes: borrowing FileAttributes, timeout: Double) {
    var stat = attributes.stat
    unsafe token.finish { unsafe fuse_reply_attr($0, &stat, timeout) }
  }
}

/// Answers open and opendir. If the session allows it, ENOSYS ends all opens.
package typealias OpenReply = Reply<Answers.Open>

extension OpenReply {
  /// - Returns: False if the request was aborted: no RELEASE of the handle will come.
  @discardableResult
  package consuming func opened(_ handle: HandleID, _ options: OpenOptions = []) -> Bool {
    var info = options.info(of: handle)
    return unsafe token.finish { unsafe fuse_reply_open($0, &info) }
  }
}

package typealias CreateReply = Reply<Answers.Create>

extension CreateReply {
  /// - Returns: False if the request was aborted: the kernel counts neither look-up nor handle.
  @discardableResult
  package consuming func created(
    _ entry: borrowing EntryAttributes, _ handle: HandleID, _ options: OpenOptions = []
  ) -> Bool {
    var parameters = entry.parameters
    var info = options.info(of: handle)
    return unsafe token.finish { unsafe fuse_reply_create($0, &parameters, &info) }
  }
}

package typealias WriteReply = Reply<Answers.Write>

extension WriteReply {
  package consuming func wrote(_ count: Int) {
    unsafe token.finish { unsafe fuse_reply_write($0, count) }
  }
}

/// Answers lseek (`SEEK_DATA`, `SEEK_HOLE`).
package typealias OffsetReply = Reply<Answers.Offset>

extension OffsetReply {
  package consuming func offset(_ offset: Int64) {
    unsafe token.finish { unsafe fuse_reply_lseek($0, off_t(offset)) }
  }
}

package typealias StatisticsReply = Reply<Answers.Statistics>

extension StatisticsReply {
  package consuming func statistics(_ statistics: FileSystemStatistics) {
    var result = statvfs()
    result.f_bsize = UInt(statistics.blockSize)
    result.f_frsize = UInt(statistics.blockSize)
    result.f_blocks = UInt(statistics.blocks)
    result.f_bfree = UInt(statistics.freeBlocks)
    result.f_bavail = UInt(statistics.availableBlocks)
    result.f_files = UInt(statistics.files)
    result.f_ffree = UInt(statistics.freeFiles)
    result.f_favail = UInt(statistics.freeFiles)
    result.f_namemax = 255
    unsafe token.finish { unsafe fuse_reply_statfs($0, &result) }
  }
}

/// Answers read and readlink with bytes.
package typealias DataReply = Reply<Answers.Bytes>

extension DataReply {
  /// Fewer bytes than requested mean the end of the file.
  package consuming func bytes(_ bytes: UnsafeRawBufferPointer) {
    unsafe token.finish {
      unsafe fuse_reply_buf($0, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
  }

  package consuming func bytes(_ bytes: RawSpan) {
    unsafe token.finish { request in
      unsafe bytes.withUnsafeBytes { buffer in
        unsafe fuse_reply_buf(
          request, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
      }
    }
  }

  package consuming func bytes(_ bytes: borrowing [UInt8]) { unsafe self.bytes(bytes.span.bytes) }
}

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
