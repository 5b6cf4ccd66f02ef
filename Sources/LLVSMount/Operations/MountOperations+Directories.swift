import FuseSession
import Platform
import TreeNames
import WorkingTree

// Serves the reading of directories.

extension MountOperations {
  private static func directory(_ file: OpenFile) -> OpenLiveDirectory? {
    OpenObject.object(file.handle) as? OpenLiveDirectory
  }

  func opendir(_ node: NodeID, flags: Int32, reply: consuming OpenReply) {
    guard !Self.isMeta(node) else { return metaOpendir(node, reply: reply) }
    let number = OpenLiveDirectory(inode: node.rawValue).number()
    tree.openDirectory(node.rawValue)
    // The kernel keeps the listing until it changes a name itself or is notified of a change.
    let options: OpenOptions = tree.countsListings ? [] : [.cacheReaddir, .keepCache]
    if !reply.opened(number, options) {
      OpenObject.close(number)
      tree.closeDirectory(node.rawValue)
    }
  }

  func readdir(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryReply
  ) {
    if let open = OpenObject.object(file.handle) as? OpenMetaDirectory {
      return metaReaddir(open.directory, offset: offset, reply: reply)
    }
    guard let directory = Self.directory(file) else { return reply.error(Errno.invalid) }
    var reply = reply
    tree.noteListing(node.rawValue)
    do throws(FSError) {
      for item in try directory.names(tree, from: offset).items(after: offset) {
        guard
          item.name.withUnsafeBytes({
            reply.add($0, inode: item.inode, mode: item.kind.typeBits, next: item.offset)
          })
        else { break }
      }
      reply.finish()
    } catch {
      reply.error(errno(of: error))
    }
  }

  func readdirplus(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryPlusReply
  ) {
    if let open = OpenObject.object(file.handle) as? OpenMetaDirectory {
      return metaReaddirplus(open.directory, offset: offset, reply: reply)
    }
    guard let directory = Self.directory(file) else { return reply.error(Errno.invalid) }
    var reply = reply
    var given: [UInt64] = []
    tree.noteListing(node.rawValue)
    do throws(FSError) {
      for item in try directory.names(tree, from: offset).items(after: offset) {
        if item.offset <= 2 {
          // `.` and `..` count no look-up.
          guard let status = try? tree.getattr(item.inode) else { continue }
          guard
            item.name.withUnsafeBytes({ reply.add($0, status.liveEntry, next: item.offset) })
          else { break }
          continue
        }
        let status: NodeStatus
        do throws(FSError) {
          status = try tree.lookup(node.rawValue, item.name)
        } catch .noEntry {
          continue
        }
        guard
          item.name.withUnsafeBytes({ reply.add($0, status.liveEntry, next: item.offset) })
        else {
          tree.forget(status.node, count: 1)
          break
        }
        given.append(status.node)
      }
      if !reply.finish() { for inode in given { tree.forget(inode, count: 1) } }
    } catch {
      for inode in given { tree.forget(inode, count: 1) }
      reply.error(errno(of: error))
    }
  }

  func releasedir(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    reply.done()
    OpenObject.close(file.handle)
    if !Self.isMeta(node) { tree.closeDirectory(node.rawValue) }
  }

  func fsyncdir(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply) {
    guard !Self.isMeta(node) else { return reply.done() }
    session.value?.aboutToBlock()
    answer(reply) { () throws(FSError) in try tree.fsyncDirectory() }
  }
}
