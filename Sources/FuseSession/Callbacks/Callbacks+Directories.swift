import CFuse3

extension fuse_lowlevel_ops {
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
