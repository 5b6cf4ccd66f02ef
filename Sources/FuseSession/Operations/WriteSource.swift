import CFuse3
import Glibc

/// The bytes of a WRITE that may still be in a pipe; valid during the call only.
@safe package struct WriteSource: ~Copyable {
  private let vector: UnsafeMutablePointer<fuse_bufvec>

  init(_ vector: UnsafeMutablePointer<fuse_bufvec>) {
    unsafe self.vector = vector
  }

  /// How many bytes there are.
  package var count: Int { unsafe fuse_buf_size(vector) }

  /// Moves the bytes into a file, by splice(2) where that can be.
  ///
  /// The bytes are then gone from here.
  ///
  /// - Returns: How many were written, or a negative errno.
  package borrowing func write(to descriptor: Int32, offset: Int64) -> Int {
    var target = fuse_bufvec()
    target.count = 1
    unsafe target.buf.size = count
    unsafe target.buf.flags = fuse_buf_flags(
      rawValue: FUSE_BUF_IS_FD.rawValue | FUSE_BUF_FD_SEEK.rawValue)
    unsafe target.buf.fd = descriptor
    unsafe target.buf.pos = off_t(offset)
    return unsafe fuse_buf_copy(&target, vector, FUSE_BUF_SPLICE_MOVE)
  }

  /// Takes the bytes out into memory.
  ///
  /// - Returns: How many there were, or a negative errno.
  package borrowing func read(into memory: UnsafeMutableRawBufferPointer) -> Int {
    var target = fuse_bufvec()
    target.count = 1
    unsafe target.buf.size = memory.count
    unsafe target.buf.mem = memory.baseAddress
    return unsafe fuse_buf_copy(&target, vector, fuse_buf_copy_flags(rawValue: 0))
  }
}
