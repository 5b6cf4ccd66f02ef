// Several of libfuse's threads call the methods concurrently. Names and bytes are valid only during the call. A
// name may be longer than NAME_MAX. Each method answers through its reply, as its last action and with no lock
// held, or parks it: a method that waits blocks one of few threads. Threads and programs that a method starts
// inherit a mask that blocks all signals, and perhaps a binding to one processor, so start them elsewhere.

/// The requests that a session of a read-only file system passes on (fuse_lowlevel.h).
package protocol FuseReading: AnyObject, Sendable {
  /// Begins the session; called before any request.
  func initialized(_ connection: ConnectionInfo)
  /// Looks up a name in a directory; the answer raises the node's look-up count by one.
  func lookup(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EntryReply)
  /// Lowers the look-up count of a node. Has no answer; must not wait or do I/O.
  func forget(_ node: NodeID, count: UInt64)
  func forget(_ nodes: [Forgotten])
  func getattr(_ node: NodeID, file: OpenFile?, reply: consuming AttributesReply)
  func readlink(_ node: NodeID, reply: consuming DataReply)
  /// `flags` are those of open(2) without O_CREAT, O_EXCL and O_NOCTTY; `clearsSetIDs` comes with O_TRUNC from a
  /// caller that may not keep set-user-id and set-group-id bits.
  func open(_ node: NodeID, flags: Int32, clearsSetIDs: Bool, reply: consuming OpenReply)
  /// Reads bytes; fewer than `count` mean the end of the file.
  func read(
    _ node: NodeID, file: OpenFile, offset: Int64, count: Int, reply: consuming DataReply)
  /// Finds the next data or hole (`SEEK_DATA`, `SEEK_HOLE`).
  func lseek(
    _ node: NodeID, file: OpenFile, offset: Int64, whence: Int32, reply: consuming OffsetReply)
  func opendir(_ node: NodeID, flags: Int32, reply: consuming OpenReply)
  /// Lists from `offset`: 0, or the `next` of the last entry that the kernel took.
  func readdir(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryReply)
  /// Lists like ``readdir(_:file:offset:reply:)``, with attributes; each entry counts as a look-up.
  func readdirplus(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryPlusReply)
  func statfs(_ node: NodeID, reply: consuming StatisticsReply)
  func getxattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming XattrReply)
  func listxattr(_ node: NodeID, reply: consuming XattrReply)
}

/// The requests that a session passes on.
package protocol FuseOperations: FuseReading {
  /// Changes attributes of a node and answers with all of them.
  func setattr(
    _ node: NodeID, _ changes: SetAttributes, file: OpenFile?, reply: consuming AttributesReply)
  /// Makes a file that is no directory and no link; `device` has the form of `makedev`. This method, `mkdir` and
  /// `create` apply ``FuseCaller/umask``, except in a directory with a default access control list.
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
  func create(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, flags: Int32,
    reply: consuming CreateReply)
  func write(
    _ node: NodeID, file: OpenFile, offset: Int64, bytes: UnsafeRawBufferPointer,
    reply: consuming WriteReply)
  /// Closes one descriptor of an open file; sent any number of times for one open.
  func flush(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply)
  /// Releases a file handle; sent once for each handle, after its last use.
  func release(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply)
  func fsync(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply)
  func fallocate(
    _ node: NodeID, file: OpenFile, mode: Int32, offset: Int64, count: Int64,
    reply: consuming EmptyReply)
  func releasedir(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply)
  func fsyncdir(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply)
  /// Sets an extended attribute. `flags` are `XATTR_CREATE` and `XATTR_REPLACE`.
  func setxattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, flags: Int32,
    reply: consuming EmptyReply)
  func removexattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming EmptyReply)
}

extension FuseReading {
  package func initialized(_ connection: ConnectionInfo) {}

  package func forget(_ nodes: [Forgotten]) {
    for one in nodes { forget(one.node, count: one.count) }
  }
}
