import CFuse3
import Glibc

extension fuse_lowlevel_ops {
  mutating func installReadingOfNodes() {
    unsafe self.`init` = { userData, connection in
      guard let userData = unsafe userData, let connection = unsafe connection else { return }
      let box = unsafe Unmanaged<SessionBox>.fromOpaque(userData).takeUnretainedValue()
      box.operations.initialized(unsafe box.connection.negotiate(&connection.pointee))
    }
    unsafe lookup = { request, parent, name in
      unsafe operations(request).lookup(
        bytes(name), in: NodeID(parent), reply: EntryReply(request))
    }
    unsafe forget = { request, node, count in
      unsafe operations(request).forget(NodeID(node), count: count)
      unsafe fuse_reply_none(request)
    }
    unsafe forget_multi = { request, count, nodes in
      let nodes = unsafe UnsafeBufferPointer(start: nodes, count: count)
      unsafe operations(request).forget(
        nodes.map { Forgotten(node: NodeID($0.ino), count: $0.nlookup) })
      unsafe fuse_reply_none(request)
    }
    unsafe getattr = { request, node, info in
      unsafe operations(request).getattr(
        NodeID(node), file: optionalFile(info), reply: AttributesReply(request))
    }
    unsafe statfs = { request, node in
      unsafe operations(request).statfs(NodeID(node), reply: StatisticsReply(request))
    }
    unsafe readlink = { request, node in
      unsafe operations(request).readlink(NodeID(node), reply: DataReply(request))
    }
    unsafe getxattr = { request, node, name, size in
      unsafe operations(request).getxattr(
        NodeID(node), bytes(name), reply: XattrReply(request, room: size))
    }
    unsafe listxattr = { request, node, size in
      unsafe operations(request).listxattr(
        NodeID(node), reply: XattrReply(request, room: size))
    }
  }

  mutating func installChangesOfNodes() {
    unsafe setattr = { request, node, attributes, mask, info in
      guard let attributes = unsafe attributes else {
        return unsafe EmptyReply(unsafe request).error(EIO)
      }
      unsafe writable(request).setattr(
        NodeID(node), SetAttributes(attributes.pointee, set: mask), file: optionalFile(info),
        reply: AttributesReply(request))
    }
    unsafe setxattr = { request, node, name, value, size, flags in
      unsafe writable(request).setxattr(
        NodeID(node), bytes(name), value: UnsafeRawBufferPointer(start: value, count: size),
        flags: flags, reply: EmptyReply(request))
    }
    unsafe removexattr = { request, node, name in
      unsafe writable(request).removexattr(
        NodeID(node), bytes(name), reply: EmptyReply(request))
    }
  }

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
