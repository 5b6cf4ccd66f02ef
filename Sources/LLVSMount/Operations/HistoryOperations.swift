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
    do throws(FSError) {
      let entry = try tree.entry(of: inode(node))
      reply.attributes(
        entry.status.attributes, timeout: entry.isLasting ? EntryAttributes.forever : 0)
    } catch {
      reply.error(answers.errno(of: error))
    }
  }

  func readlink(_ node: NodeID, reply: consuming DataReply) {
    do throws(FSError) {
      reply.bytes(try meta.readlink(node.rawValue))
    } catch {
      reply.error(answers.errno(of: error))
    }
  }

  func open(_ node: NodeID, flags: Int32, clearsSetIDs: Bool, reply: consuming OpenReply) {
    reply.error(Errno.notImplemented)
  }

  func opendir(_ node: NodeID, flags: Int32, reply: consuming OpenReply) {
    reply.error(Errno.notImplemented)
  }

  func read(_ node: NodeID, file: OpenFile, offset: Int64, count: Int, reply: consuming DataReply) {
    guard offset >= 0, count >= 0, count <= 16 << 20 else { return reply.error(Errno.invalid) }
    do throws(FSError) {
      let file = try tree.file(node.rawValue)
      answers.read(file, offset: offset, count: count, reply: reply)
    } catch {
      reply.error(answers.errno(of: error))
    }
  }

  func lseek(
    _ node: NodeID, file: OpenFile, offset: Int64, whence: Int32, reply: consuming OffsetReply
  ) {
    answers.seek(
      try? tree.file(node.rawValue), offset: offset, whence: whence, reply: reply)
  }

  func readdir(_ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryReply) {
    do throws(FSError) {
      let number = inode(node)
      let directory = try tree.directory(number, from: UInt64(clamping: offset))
      answers.readdir(directory, offset: offset, reply: reply) {
        tree.keep(directory, of: number, at: $0)
      }
    } catch {
      reply.error(answers.errno(of: error))
    }
  }

  func readdirplus(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryPlusReply
  ) {
    do throws(FSError) {
      let number = inode(node)
      let directory = try tree.directory(number, from: UInt64(clamping: offset))
      answers.readdirplus(directory, offset: offset, reply: reply) {
        tree.keep(directory, of: number, at: $0)
      }
    } catch {
      reply.error(answers.errno(of: error))
    }
  }

  func getxattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming XattrReply) {
    do throws(FSError) {
      reply.value(try meta.getxattr(inode(node), Array(name)))
    } catch {
      reply.error(answers.errno(of: error))
    }
  }

  func listxattr(_ node: NodeID, reply: consuming XattrReply) {
    do throws(FSError) {
      reply.value(try meta.listxattr(inode(node)))
    } catch {
      reply.error(answers.errno(of: error))
    }
  }

  func statfs(_ node: NodeID, reply: consuming StatisticsReply) { answers.statfs(reply: reply) }
}
