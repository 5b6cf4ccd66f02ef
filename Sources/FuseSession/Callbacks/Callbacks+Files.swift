import CFuse3
import Glibc

extension fuse_lowlevel_ops {
  mutating func installReadingOfFiles() {
    unsafe open = { request, node, info in
      unsafe operations(request).open(
        NodeID(node), flags: flags(info), clearsSetIDs: clearsSetIDs(info),
        reply: OpenReply(request))
    }
    unsafe read = { request, node, size, offset, info in
      unsafe operations(request).read(
        NodeID(node), file: file(info), offset: Int64(offset), count: size,
        reply: DataReply(request))
    }
    unsafe lseek = { request, node, offset, whence, info in
      unsafe operations(request).lseek(
        NodeID(node), file: file(info), offset: Int64(offset), whence: whence,
        reply: OffsetReply(request))
    }
    unsafe ioctl = { request, _, _, _, _, _, _, _, _ in
      unsafe EmptyReply(request).error(ENOTTY)
    }
  }

  mutating func installChangesOfFiles() {
    unsafe write = { request, node, data, size, offset, info in
      unsafe writable(request).write(
        NodeID(node), file: file(info), offset: Int64(offset),
        bytes: UnsafeRawBufferPointer(start: data, count: size), reply: WriteReply(request))
    }
    unsafe fallocate = { request, node, mode, offset, length, info in
      unsafe writable(request).fallocate(
        NodeID(node), file: file(info), mode: mode, offset: Int64(offset),
        count: Int64(length), reply: EmptyReply(request))
    }
    unsafe flush = { request, node, info in
      unsafe writable(request).flush(
        NodeID(node), file: file(info), reply: EmptyReply(request))
    }
    unsafe fsync = { request, node, dataOnly, info in
      unsafe writable(request).fsync(
        NodeID(node), file: file(info), dataOnly: dataOnly != 0, reply: EmptyReply(request))
    }
    unsafe release = { request, node, info in
      unsafe writable(request).release(
        NodeID(node), file: file(info), reply: EmptyReply(request))
    }
  }

  mutating func installReadingOfDirectories() {
    unsafe opendir = { request, node, info in
      unsafe operations(request).opendir(
        NodeID(node), flags: flags(info), reply: OpenReply(request))
    }
    unsafe readdir = { request, node, size, offset, info in
      unsafe operations(request).readdir(
        NodeID(node), file: file(info), offset: Int64(offset),
        reply: DirectoryReply(request, size: size))
    }
    unsafe readdirplus = { request, node, size, offset, info in
      unsafe operations(request).readdirplus(
        NodeID(node), file: file(info), offset: Int64(offset),
        reply: DirectoryPlusReply(request, size: size))
    }
  }

  mutating func installChangesOfDirectories() {
    unsafe releasedir = { request, node, info in
      unsafe writable(request).releasedir(
        NodeID(node), file: file(info), reply: EmptyReply(request))
    }
    unsafe fsyncdir = { request, node, dataOnly, info in
      unsafe writable(request).fsyncdir(
        NodeID(node), file: file(info), dataOnly: dataOnly != 0, reply: EmptyReply(request))
    }
  }

  /// Omitted operations are answered with ENOSYS.
  init(isReadOnly: Bool) {
    self.init()
    installReadingOfNodes()
    installReadingOfFiles()
    installReadingOfDirectories()
    if isReadOnly { return }
    installChangesOfNodes()
    installChangesOfFiles()
    installChangesOfNames()
    installChangesOfDirectories()
  }
}
