import CFuse3

extension fuse_lowlevel_ops {
  /// MKNOD, MKDIR, SYMLINK, LINK, CREATE.
  mutating func installMaking(_ set: OperationSet) {
    if set.contains(.mknod) {
      unsafe mknod = { request, parent, name, mode, device in
        unsafe operations(request).mknod(
          bytes(name), in: NodeID(parent), mode: mode, device: UInt64(device),
          reply: EntryReply(request))
      }
    }
    if set.contains(.mkdir) {
      unsafe mkdir = { request, parent, name, mode in
        unsafe operations(request).mkdir(
          bytes(name), in: NodeID(parent), mode: mode, reply: EntryReply(request))
      }
    }
    if set.contains(.symlink) {
      unsafe symlink = { request, target, parent, name in
        unsafe operations(request).symlink(
          bytes(name), in: NodeID(parent), target: bytes(target), reply: EntryReply(request))
      }
    }
    if set.contains(.link) {
      unsafe link = { request, node, parent, name in
        unsafe operations(request).link(
          NodeID(node), as: bytes(name), in: NodeID(parent), reply: EntryReply(request))
      }
    }
    if set.contains(.create) {
      unsafe create = { request, parent, name, mode, info in
        unsafe operations(request).create(
          bytes(name), in: NodeID(parent), mode: mode, flags: flags(info),
          reply: CreateReply(request))
      }
    }
  }

  /// UNLINK, RMDIR, RENAME.
  mutating func installRemoving(_ set: OperationSet) {
    if set.contains(.unlink) {
      unsafe unlink = { request, parent, name in
        unsafe operations(request).unlink(
          bytes(name), in: NodeID(parent), reply: EmptyReply(request))
      }
    }
    if set.contains(.rmdir) {
      unsafe rmdir = { request, parent, name in
        unsafe operations(request).rmdir(
          bytes(name), in: NodeID(parent), reply: EmptyReply(request))
      }
    }
    if set.contains(.rename) {
      unsafe rename = { request, parent, name, newParent, newName, flags in
        unsafe operations(request).rename(
          bytes(name), in: NodeID(parent), to: bytes(newName), in: NodeID(newParent),
          flags: RenameFlags(rawValue: flags), reply: EmptyReply(request))
      }
    }
  }
}
