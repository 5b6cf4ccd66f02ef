import CFuse3
import Glibc

extension fuse_lowlevel_ops {
  /// OPEN, FLUSH, RELEASE, FSYNC, IOCTL.
  mutating func installHandles(_ set: OperationSet) {
    if set.contains(.open) {
      unsafe open = { request, node, info in
        unsafe operations(request).open(
          NodeID(node), flags: flags(info), clearsSetIDs: clearsSetIDs(info),
          reply: OpenReply(request))
      }
    }
    if set.contains(.flush) {
      unsafe flush = { request, node, info in
        unsafe operations(request).flush(
          NodeID(node), file: file(info), reply: EmptyReply(request))
      }
    }
    if set.contains(.release) {
      unsafe release = { request, node, info in
        unsafe operations(request).release(
          NodeID(node), file: file(info), reply: EmptyReply(request))
      }
    }
    if set.contains(.fsync) {
      unsafe fsync = { request, node, dataOnly, info in
        unsafe operations(request).fsync(
          NodeID(node), file: file(info), dataOnly: dataOnly != 0, reply: EmptyReply(request))
      }
    }
    if set.contains(.ioctl) {
      unsafe ioctl = { request, _, _, _, _, _, _, _, _ in
        unsafe EmptyReply(request).error(ENOTTY)
      }
    }
  }

  /// READ, WRITE, FALLOCATE, LSEEK.
  mutating func installData(_ set: OperationSet) {
    if set.contains(.read) {
      unsafe read = { request, node, size, offset, info in
        unsafe operations(request).read(
          NodeID(node), file: file(info), offset: Int64(offset), count: size,
          reply: DataReply(request))
      }
    }
    if set.contains(.write) {
      unsafe write = { request, node, data, size, offset, info in
        unsafe operations(request).write(
          NodeID(node), file: file(info), offset: Int64(offset),
          bytes: UnsafeRawBufferPointer(start: data, count: size), reply: WriteReply(request))
      }
    }
    if set.contains(.fallocate) {
      unsafe fallocate = { request, node, mode, offset, length, info in
        unsafe operations(request).fallocate(
          NodeID(node), file: file(info), mode: mode, offset: Int64(offset),
          count: Int64(length), reply: EmptyReply(request))
      }
    }
    if set.contains(.lseek) {
      unsafe lseek = { request, node, offset, whence, info in
        unsafe operations(request).lseek(
          NodeID(node), file: file(info), offset: Int64(offset), whence: whence,
          reply: OffsetReply(request))
      }
    }
  }
}
