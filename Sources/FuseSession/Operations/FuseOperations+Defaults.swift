import Glibc

extension FuseOperations {
  package func initialized(_ connection: ConnectionInfo) {}

  package func forget(_ nodes: [Forgotten]) {
    for one in nodes { forget(one.node, count: one.count) }
  }

  package func setattr(
    _ node: NodeID, _ changes: SetAttributes, file: OpenFile?, reply: consuming AttributesReply
  ) { reply.error(ENOSYS) }

  package func mknod(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, device: UInt64,
    reply: consuming EntryReply
  ) { reply.error(ENOSYS) }

  package func mkdir(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, reply: consuming EntryReply
  ) { reply.error(ENOSYS) }

  package func unlink(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply
  ) { reply.error(ENOSYS) }

  package func rmdir(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply)
  { reply.error(ENOSYS) }

  package func symlink(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, target: UnsafeRawBufferPointer,
    reply: consuming EntryReply
  ) { reply.error(ENOSYS) }

  package func rename(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, to newName: UnsafeRawBufferPointer,
    in newParent: NodeID, flags: RenameFlags, reply: consuming EmptyReply
  ) { reply.error(ENOSYS) }

  package func link(
    _ node: NodeID, as name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EntryReply
  ) { reply.error(ENOSYS) }

  package func open(
    _ node: NodeID, flags: Int32, clearsSetIDs: Bool, reply: consuming OpenReply
  ) { reply.error(ENOSYS) }

  package func create(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, flags: Int32,
    reply: consuming CreateReply
  ) { reply.error(ENOSYS) }

  package func write(
    _ node: NodeID, file: OpenFile, offset: Int64, bytes: UnsafeRawBufferPointer,
    reply: consuming WriteReply
  ) { reply.error(ENOSYS) }

  package func flush(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    reply.error(ENOSYS)
  }

  package func release(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    reply.error(ENOSYS)
  }

  package func fsync(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply) {
    reply.error(ENOSYS)
  }

  package func fallocate(
    _ node: NodeID, file: OpenFile, mode: Int32, offset: Int64, count: Int64,
    reply: consuming EmptyReply
  ) { reply.error(ENOSYS) }

  package func opendir(_ node: NodeID, flags: Int32, reply: consuming OpenReply) {
    reply.error(ENOSYS)
  }

  package func releasedir(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    reply.error(ENOSYS)
  }

  package func fsyncdir(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply)
  { reply.error(ENOSYS) }

  package func setxattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, flags: Int32,
    reply: consuming EmptyReply
  ) { reply.error(ENOSYS) }

  package func removexattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming EmptyReply
  ) { reply.error(ENOSYS) }
}
