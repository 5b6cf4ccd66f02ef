import CFuse3

extension fuse_lowlevel_ops {
  /// OPENDIR, READDIR, READDIRPLUS, RELEASEDIR, FSYNCDIR.
  mutating func installDirectories(_ set: OperationSet) {
    if set.contains(.opendir) {
      unsafe opendir = { request, node, info in
        unsafe operations(request).opendir(
          NodeID(node), flags: flags(info), reply: OpenReply(request))
      }
    }
    if set.contains(.readdir) {
      unsafe readdir = { request, node, size, offset, info in
        unsafe operations(request).readdir(
          NodeID(node), file: file(info), offset: Int64(offset),
          reply: DirectoryReply(request, size: size))
      }
    }
    if set.contains(.readdirplus) {
      unsafe readdirplus = { request, node, size, offset, info in
        unsafe operations(request).readdirplus(
          NodeID(node), file: file(info), offset: Int64(offset),
          reply: DirectoryPlusReply(request, size: size))
      }
    }
    if set.contains(.releasedir) {
      unsafe releasedir = { request, node, info in
        unsafe operations(request).releasedir(
          NodeID(node), file: file(info), reply: EmptyReply(request))
      }
    }
    if set.contains(.fsyncdir) {
      unsafe fsyncdir = { request, node, dataOnly, info in
        unsafe operations(request).fsyncdir(
          NodeID(node), file: file(info), dataOnly: dataOnly != 0, reply: EmptyReply(request))
      }
    }
  }

  /// Omitted operations are answered with ENOSYS.
  init(_ set: OperationSet) {
    self.init()
    installBase()
    installAttributes(set)
    installXattrs(set)
    installMaking(set)
    installRemoving(set)
    installHandles(set)
    installData(set)
    installDirectories(set)
  }
}
