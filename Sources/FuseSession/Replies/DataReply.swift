import CFuse3
import Glibc

@safe package enum DataPart {
  /// Bytes that stay valid until the reply is sent.
  case bytes(UnsafeRawBufferPointer)
  /// A range of a file, spliced if that is faster.
  case file(descriptor: Int32, offset: Int64, count: Int)
}

/// Answers read and readlink with bytes.
package struct DataReply: ~Copyable, FuseReply {
  private var token: ReplyToken
  init(_ request: fuse_req_t?) { unsafe token = ReplyToken(request) }
  package var request: RequestPointer { token.request }
  package mutating func markParked() { token.markParked() }
  package consuming func error(_ errno: Int32) { token.error(errno) }

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

  /// Answers with a range of a file, moved with splice(2) if the session has it and there are at least two pages;
  /// beyond the end there are fewer bytes.
  package consuming func file(_ descriptor: Int32, offset: Int64, count: Int) {
    var vector = fuse_bufvec()
    vector.count = 1
    unsafe vector.buf.size = count
    unsafe vector.buf.flags = fuse_buf_flags(
      rawValue: FUSE_BUF_IS_FD.rawValue | FUSE_BUF_FD_SEEK.rawValue)
    unsafe vector.buf.fd = descriptor
    unsafe vector.buf.pos = off_t(offset)
    unsafe token.finish { unsafe fuse_reply_data($0, &vector, FUSE_BUF_SPLICE_MOVE) }
  }

  /// Answers with several parts in order, which are not copied if none is a file.
  package consuming func parts(_ parts: borrowing [DataPart]) {
    // `fuse_bufvec` ends in an array of one element; the others follow it.
    let room = unsafe MemoryLayout<fuse_bufvec>.size + parts.count * MemoryLayout<fuse_buf>.stride
    unsafe token.finish { request in
      unsafe withUnsafeTemporaryAllocation(
        byteCount: room, alignment: MemoryLayout<fuse_bufvec>.alignment
      ) { memory in
        guard let base = memory.baseAddress,
          let first = unsafe MemoryLayout<fuse_bufvec>.offset(of: \fuse_bufvec.buf)
        else { return unsafe fuse_reply_err(request, EIO) }
        unsafe memset(base, 0, room)
        let vector = unsafe base.bindMemory(to: fuse_bufvec.self, capacity: 1)
        unsafe vector.pointee.count = parts.count
        for (index, part) in parts.enumerated() {
          unsafe (base + first + index * MemoryLayout<fuse_buf>.stride)
            .storeBytes(of: part.buffer, as: fuse_buf.self)
        }
        return unsafe fuse_reply_data(request, vector, FUSE_BUF_SPLICE_MOVE)
      }
    }
  }
}

extension DataPart {
  fileprivate var buffer: fuse_buf {
    var result = unsafe fuse_buf()
    switch self {
    case .bytes(let bytes):
      unsafe result.mem = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
      unsafe result.size = bytes.count
    case .file(let descriptor, let offset, let count):
      unsafe result.flags = fuse_buf_flags(
        rawValue: FUSE_BUF_IS_FD.rawValue | FUSE_BUF_FD_SEEK.rawValue)
      unsafe result.fd = descriptor
      unsafe result.pos = off_t(offset)
      unsafe result.size = count
    }
    return unsafe result
  }
}
