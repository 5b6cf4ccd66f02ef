import CFuse3
import Glibc

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
