import FuseSession
import HistoryTree
import Platform
import TreeNames
import WorkingTree

/// The versions of a store as a separate read-only file system. OPEN and OPENDIR answer ENOSYS; then the kernel
/// opens and closes files without requests.
/// - Concurrency: any number of requests at once; no lock is held while a reply is sent.
final class HistoryOperations: FuseReading {
  let tree: VersionsFileSystem
  private let answers: MetaAnswers
  private var meta: MetaTree { tree.meta }

  init(_ tree: VersionsFileSystem, live: TreeSession) {
    self.tree = tree
    answers = MetaAnswers(meta: tree.meta, tree: live)
  }

  private func inode(_ node: NodeID) -> UInt64 { node == .root ? tree.top : node.rawValue }

  func lookup(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EntryReply) {
    let name = Array(name)
    answers.lookup(reply: reply) { () throws(FSError) in try meta.lookup(inode(parent), name) }
  }

  func forget(_ node: NodeID, count: UInt64) {
    // The root has no look-up count.
    if node != .root { meta.forget(node.rawValue, count: count) }
  }

  func getattr(_ node: NodeID, file: OpenFile?, reply: consuming AttributesReply) {
    answers.answer(reply, try tree.entry(of: inode(node))) { reply, entry in
      reply.attributes(
        entry.status.attributes, timeout: entry.isLasting ? EntryAttributes.forever : 0)
    }
  }

  func readlink(_ node: NodeID, reply: consuming DataReply) {
    answers.answer(reply, try meta.readlink(node.rawValue)) { $0.bytes($1) }
  }

  func open(_ node: NodeID, flags: Int32, clearsSetIDs: Bool, reply: consuming OpenReply) {
    reply.error(Errno.notImplemented)
  }

  func opendir(_ node: NodeID, flags: Int32, reply: consuming OpenReply) {
    reply.error(Errno.notImplemented)
  }

  func read(_ node: NodeID, file: OpenFile, offset: Int64, count: Int, reply: consuming DataReply) {
    guard offset >= 0, count >= 0, count <= 16 << 20 else { return reply.error(Errno.invalid) }
    answers.answer(reply, try tree.file(node.rawValue)) { reply, file in
      answers.read(file, offset: offset, count: count, reply: reply)
    }
  }

  func lseek(
    _ node: NodeID, file: OpenFile, offset: Int64, whence: Int32, reply: consuming OffsetReply
  ) {
    answers.seek(
      try? tree.file(node.rawValue), offset: offset, whence: whence, reply: reply)
  }

  func readdir(_ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryReply) {
    let number = inode(node)
    let start = UInt64(clamping: offset)
    answers.answer(reply, try tree.directory(number, from: start)) { reply, directory in
      answers.readdir(directory, offset: offset, reply: reply) {
        tree.keep(directory, of: number, at: $0)
      }
    }
  }

  func readdirplus(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryPlusReply
  ) {
    let number = inode(node)
    let start = UInt64(clamping: offset)
    answers.answer(reply, try tree.directory(number, from: start)) { reply, directory in
      answers.readdirplus(directory, offset: offset, reply: reply) {
        tree.keep(directory, of: number, at: $0)
      }
    }
  }

  func getxattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming XattrReply) {
    answers.answer(reply, try meta.getxattr(inode(node), Array(name))) { $0.value($1) }
  }

  func listxattr(_ node: NodeID, reply: consuming XattrReply) {
    answers.answer(reply, try meta.listxattr(inode(node))) { $0.value($1) }
  }

  func statfs(_ node: NodeID, reply: consuming StatisticsReply) { answers.statfs(reply: reply) }
}
