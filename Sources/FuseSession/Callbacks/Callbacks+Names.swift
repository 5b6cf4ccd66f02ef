import CFuse3

extension fuse_lowlevel_ops {
  mutating func installChangesOfNames() {
    unsafe mknod = { request, parent, name, mode, device in
      unsafe writable(request).mknod(
        bytes(name), in: NodeID(parent), mode: mode, device: UInt64(device),
        reply: EntryReply(request))
    }
    unsafe mkdir = { request, parent, name, mode in
      unsafe writable(request).mkdir(
        bytes(name), in: NodeID(parent), mode: mode, reply: EntryReply(request))
    }
    unsafe symlink = { request, target, parent, name in
      unsafe writable(request).symlink(
        bytes(name), in: NodeID(parent), target: bytes(target), reply: EntryReply(request))
    }
    unsafe link = { request, node, parent, name in
      unsafe writable(request).link(
        NodeID(node), as: bytes(name), in: NodeID(parent), reply: EntryReply(request))
    }
    unsafe create = { request, parent, name, mode, info in
      unsafe writable(request).create(
        bytes(name), in: NodeID(parent), mode: mode, flags: flags(info),
        reply: CreateReply(request))
    }
    unsafe unlink = { request, parent, name in
      unsafe writable(request).unlink(
        bytes(name), in: NodeID(parent), reply: EmptyReply(request))
    }
    unsafe rmdir = { request, parent, name in
      unsafe writable(request).rmdir(
        bytes(name), in: NodeID(parent), reply: EmptyReply(request))
    }
    unsafe rename = { request, parent, name, newParent, newName, flags in
      unsafe writable(request).rename(
        bytes(name), in: NodeID(parent), to: bytes(newName), in: NodeID(newParent),
        flags: RenameFlags(rawValue: flags), reply: EmptyReply(request))
    }
  }
}
