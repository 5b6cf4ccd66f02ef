// A file system as the kernel calls it: one method for each request (see fuse_lowlevel.h).
//
// Methods are called on libfuse's threads, several at once. Names and bytes are valid only during
// the call: copy what is kept. A name may be longer than NAME_MAX (the kernel's limit is 1024); the
// file system refuses it. Each method answers through its reply, as its last action and with no
// lock held, or parks the reply and returns: a method that waits blocks one of few threads. Threads
// and programs that a method starts inherit a mask that blocks all signals, and perhaps the
// restriction to one processor: start them elsewhere.

/// The requests that a session passes on.
///
/// Every method has a default that answers ENOSYS, so a file system implements only the requests
/// that it serves. The session's ``OperationSet`` lists them once more.
package protocol FuseOperations: AnyObject, Sendable {
  /// Begins the session; called before any request.
  func initialized(_ connection: ConnectionInfo)

  /// Looks up a name in a directory; the answer raises the node's look-up count by one.
  func lookup(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EntryReply)
  /// Lowers the look-up count of a node by `count`. Has no answer; must not wait or do I/O.
  func forget(_ node: NodeID, count: UInt64)
  /// Does ``forget(_:count:)`` for many nodes; the default calls it for each.
  func forget(_ nodes: [Forgotten])
  /// Answers with the attributes of a node.
  func getattr(_ node: NodeID, file: OpenFile?, reply: consuming AttributesReply)
  /// Changes attributes of a node and answers with all of them.
  func setattr(
    _ node: NodeID, _ changes: SetAttributes, file: OpenFile?, reply: consuming AttributesReply)
  /// Answers with the target of a symbolic link.
  func readlink(_ node: NodeID, reply: consuming DataReply)

  /// Makes a file that is no directory and no link. `device` has the form of `makedev`.
  ///
  /// The mode is the caller's: this method, `mkdir` and `create` apply ``FuseCaller/umask``, except in a
  /// directory with a default access control list.
  func mknod(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, device: UInt64,
    reply: consuming EntryReply)
  /// Makes a directory; the umask is already applied to the mode.
  func mkdir(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, reply: consuming EntryReply)
  /// Removes a name that is no directory.
  func unlink(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply)
  /// Removes an empty directory.
  func rmdir(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply)
  /// Makes a symbolic link with a target of any bytes.
  func symlink(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, target: UnsafeRawBufferPointer,
    reply: consuming EntryReply)
  /// Renames a file or directory.
  func rename(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, to newName: UnsafeRawBufferPointer,
    in newParent: NodeID, flags: RenameFlags, reply: consuming EmptyReply)
  /// Gives a file another name.
  func link(
    _ node: NodeID, as name: UnsafeRawBufferPointer, in parent: NodeID,
    reply: consuming EntryReply)

  /// Opens a file. `flags` are those of open(2) without O_CREAT, O_EXCL and O_NOCTTY;
  /// `clearsSetIDs` comes with O_TRUNC from a caller that may not keep a file's set-user-id and
  /// set-group-id bits.
  func open(_ node: NodeID, flags: Int32, clearsSetIDs: Bool, reply: consuming OpenReply)
  /// Makes a regular file and opens it.
  func create(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, flags: Int32,
    reply: consuming CreateReply)
  /// Reads bytes; fewer than `count` mean the end of the file.
  func read(
    _ node: NodeID, file: OpenFile, offset: Int64, count: Int, reply: consuming DataReply)
  /// Writes bytes and answers with their number.
  func write(
    _ node: NodeID, file: OpenFile, offset: Int64, bytes: UnsafeRawBufferPointer,
    reply: consuming WriteReply)
  /// Closes one descriptor of an open file; sent any number of times for one open.
  func flush(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply)
  /// Releases a file handle; sent once for each handle, after its last use.
  func release(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply)
  /// Makes a file's data durable, and with `dataOnly` false its attributes too.
  func fsync(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply)
  /// Reserves, zeroes or punches out a range of a file, as `mode` of fallocate(2) says.
  func fallocate(
    _ node: NodeID, file: OpenFile, mode: Int32, offset: Int64, count: Int64,
    reply: consuming EmptyReply)
  /// Copies a range between two files and answers with the number of bytes.
  func copyFileRange(
    from node: NodeID, file: OpenFile, offset: Int64, to target: NodeID, targetFile: OpenFile,
    targetOffset: Int64, count: Int, reply: consuming WriteReply)
  /// Finds the next data or hole (`SEEK_DATA`, `SEEK_HOLE`).
  func lseek(
    _ node: NodeID, file: OpenFile, offset: Int64, whence: Int32, reply: consuming OffsetReply)
  /// Serves an ioctl without data. The default answers ENOTTY.
  func ioctl(_ node: NodeID, file: OpenFile, command: UInt32, reply: consuming EmptyReply)

  /// Opens a directory.
  func opendir(_ node: NodeID, flags: Int32, reply: consuming OpenReply)
  /// Lists from `offset`: 0, or the `next` that ``DirectoryReply`` got with the last entry that the
  /// kernel took.
  func readdir(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryReply)
  /// Lists like ``readdir(_:file:offset:reply:)``, with attributes; each entry counts as a look-up.
  func readdirplus(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryPlusReply)
  /// Releases a directory handle.
  func releasedir(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply)
  /// Makes a directory's entries durable.
  func fsyncdir(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply)

  /// Answers with the size and the free space of the file system.
  func statfs(_ node: NodeID, reply: consuming StatisticsReply)
  /// Checks permissions; the kernel sends it only without `default_permissions`.
  func access(_ node: NodeID, mask: Int32, reply: consuming EmptyReply)

  /// Sets an extended attribute. `flags` are `XATTR_CREATE` and `XATTR_REPLACE`.
  func setxattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, flags: Int32,
    reply: consuming EmptyReply)
  /// Answers with the value of an extended attribute.
  func getxattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming XattrReply)
  /// Answers with the names of the extended attributes.
  func listxattr(_ node: NodeID, reply: consuming XattrReply)
  /// Removes an extended attribute.
  func removexattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming EmptyReply)
}
