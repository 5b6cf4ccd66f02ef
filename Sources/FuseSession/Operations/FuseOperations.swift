// A file system as the kernel asks for it, one method for each request (see fuse_lowlevel.h).
//
// Methods are called on libfuse's threads, several at once. Names and bytes are valid only during
// the call: copy what is kept. A name may be longer than NAME_MAX (the kernel's limit is 1024): the
// file system refuses it. Each method answers through its reply, last and with no lock held, or
// parks the reply and returns: a method that waits holds one of few threads. What a method starts
// (a thread, a program) inherits that all signals are blocked and that the thread may be kept on one
// processor: such things are better started elsewhere.

/// What a session calls.
///
/// Every method has a default that answers ENOSYS, so a file system says only what it serves.
/// What it serves it names once more in the session's ``OperationSet``.
package protocol FuseOperations: AnyObject, Sendable {
  /// The session begins; called before any request.
  func initialized(_ connection: ConnectionInfo)

  func lookup(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EntryReply)
  /// Gives back `count` look-ups of a node. Has no answer; must not wait or do I/O.
  func forget(_ node: NodeID, count: UInt64)
  /// ``forget(_:count:)`` of many nodes; the default calls that for each.
  func forget(_ nodes: [Forgotten])
  func getattr(_ node: NodeID, file: OpenFile?, reply: consuming AttributesReply)
  func setattr(
    _ node: NodeID, _ changes: SetAttributes, file: OpenFile?, reply: consuming AttributesReply)
  func readlink(_ node: NodeID, reply: consuming DataReply)

  /// `device` is what `makedev` packs. The mode has the umask taken out.
  func mknod(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, device: UInt64,
    reply: consuming EntryReply)
  func mkdir(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, reply: consuming EntryReply)
  func unlink(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply)
  func rmdir(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply)
  func symlink(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, target: UnsafeRawBufferPointer,
    reply: consuming EntryReply)
  func rename(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, to newName: UnsafeRawBufferPointer,
    in newParent: NodeID, flags: RenameFlags, reply: consuming EmptyReply)
  func link(
    _ node: NodeID, as name: UnsafeRawBufferPointer, in parent: NodeID,
    reply: consuming EntryReply)

  /// `flags` are open(2)'s, without O_CREAT, O_EXCL and O_NOCTTY; `clearsSetIDs` comes with O_TRUNC of
  /// somebody who may not keep a file's set-user-id and set-group-id bits.
  func open(_ node: NodeID, flags: Int32, clearsSetIDs: Bool, reply: consuming OpenReply)
  func create(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, flags: Int32,
    reply: consuming CreateReply)
  func read(
    _ node: NodeID, file: OpenFile, offset: Int64, count: Int, reply: consuming DataReply)
  func write(
    _ node: NodeID, file: OpenFile, offset: Int64, bytes: UnsafeRawBufferPointer,
    reply: consuming WriteReply)
  /// Sent for every descriptor that is closed, so any number of times for one open.
  func flush(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply)
  func release(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply)
  func fsync(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply)
  func fallocate(
    _ node: NodeID, file: OpenFile, mode: Int32, offset: Int64, count: Int64,
    reply: consuming EmptyReply)
  func copyFileRange(
    from node: NodeID, file: OpenFile, offset: Int64, to target: NodeID, targetFile: OpenFile,
    targetOffset: Int64, count: Int, reply: consuming WriteReply)
  func lseek(
    _ node: NodeID, file: OpenFile, offset: Int64, whence: Int32, reply: consuming OffsetReply)
  /// The default answers ENOTTY.
  func ioctl(_ node: NodeID, file: OpenFile, command: UInt32, reply: consuming EmptyReply)

  func opendir(_ node: NodeID, flags: Int32, reply: consuming OpenReply)
  /// Lists from `offset`: 0, or what ``DirectoryReply`` was given with the last entry taken.
  func readdir(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryReply)
  func readdirplus(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryPlusReply)
  func releasedir(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply)
  func fsyncdir(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply)

  func statfs(_ node: NodeID, reply: consuming StatisticsReply)
  func access(_ node: NodeID, mask: Int32, reply: consuming EmptyReply)

  /// `flags` are `XATTR_CREATE` and `XATTR_REPLACE`.
  func setxattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, flags: Int32,
    reply: consuming EmptyReply)
  func getxattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming XattrReply)
  func listxattr(_ node: NodeID, reply: consuming XattrReply)
  func removexattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming EmptyReply)
}
