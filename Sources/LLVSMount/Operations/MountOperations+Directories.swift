import FuseSession
import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

extension MountOperations {
  private static func directory(_ file: OpenFile) -> OpenLiveDirectory? {
    OpenObject.object(file.handle) as? OpenLiveDirectory
  }

  func opendir(_ node: NodeID, flags: Int32, reply: consuming OpenReply) {
    guard !Self.isMeta(node) else { return metaOpendir(node, reply: reply) }
    answers.answer(reply, try tree.openDirectory(node.number)) { reply, listing in
      let isCached = !tree.countsListings && listings.begin(of: node.number)
      let number = OpenLiveDirectory(listing, isCached: isCached).number()
      // The kernel keeps the listing until it changes a name itself or is notified of a change.
      if !reply.opened(number, isCached ? [.cacheReaddir, .keepCache] : .keepCache) {
        close(number, of: node)
      }
    }
  }

  /// The offsets behind `.` and `..`; other names have the tree's cookies, which are greater.
  private static let ownOffset: Int64 = 1
  private static let aboveOffset: Int64 = 2

  private static func cookie(_ offset: Int64) -> EntryCookie {
    offset <= aboveOffset ? .start : EntryCookie(offset)
  }

  func readdir(_ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryReply) {
    if let open = OpenObject.object(file.handle) as? OpenMetaDirectory {
      return answers.readdir(open.directory, offset: offset, reply: reply)
    }
    guard let directory = Self.directory(file) else { return reply.error(Errno.invalid) }
    dropOvertaken(directory, node)
    var reply = reply
    do throws(FSError) {
      try tree.noteListing(node.number)
      if offset < Self.ownOffset { add(".", node.number, next: Self.ownOffset, to: &reply) }
      if offset < Self.aboveOffset {
        add("..", try tree.parent(of: node.number), next: Self.aboveOffset, to: &reply)
      }
      for item in try tree.list(
        directory.listing, after: Self.cookie(offset), atMost: reply.limit)
      {
        let fits = item.name.bytes.withUnsafeBytes {
          reply.add(
            $0, inode: item.number.rawValue, mode: item.kind.typeBits, next: item.cookie.rawValue)
        }
        guard fits else { break }
      }
      reply.finish()
    } catch {
      reply.error(errno(of: error))
    }
  }

  private func add(
    _ name: StaticString, _ number: InodeNumber, next: Int64, to reply: inout DirectoryReply
  ) {
    name.withUTF8Buffer {
      _ = reply.add(
        UnsafeRawBufferPointer($0), inode: number.rawValue, mode: EntryKind.directory.typeBits,
        next: next)
    }
  }

  func readdirplus(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryPlusReply
  ) {
    if let open = OpenObject.object(file.handle) as? OpenMetaDirectory {
      return answers.readdirplus(open.directory, offset: offset, reply: reply)
    }
    guard let directory = Self.directory(file) else { return reply.error(Errno.invalid) }
    dropOvertaken(directory, node)
    var reply = reply
    var given: [InodeNumber] = []
    do throws(FSError) {
      try tree.noteListing(node.number)
      // These two count no look-up.
      if offset < Self.ownOffset {
        add(".", try tree.status(of: node.number), next: Self.ownOffset, to: &reply)
      }
      if offset < Self.aboveOffset {
        let above = try tree.parent(of: node.number)
        add("..", try tree.status(of: above), next: Self.aboveOffset, to: &reply)
      }
      var names = try tree.list(
        directory.listing, after: Self.cookie(offset), atMost: reply.limit)
      // For the kernel, an answer without names is the end, so a page of removed names is skipped.
      while try add(names, of: node.number, &given, to: &reply), given.isEmpty,
        let last = names.last
      {
        names = try tree.list(directory.listing, after: last.cookie, atMost: reply.limit)
      }
      Faults.replying("readdirplus", of: live.store.path)
      if !reply.finish() { for number in given { tree.forget(number, count: 1) } }
    } catch {
      for number in given { tree.forget(number, count: 1) }
      reply.error(errno(of: error))
    }
  }

  /// Looks listed names up and adds those that still exist; false if the reply is full.
  private func add(
    _ names: [ListedName], of directory: InodeNumber, _ given: inout [InodeNumber],
    to reply: inout DirectoryPlusReply
  ) throws(FSError) -> Bool {
    Faults.replying("listed", of: live.store.path)
    for item in names {
      let status: InodeStatus
      do throws(FSError) {
        status = try tree.lookup(directory, item.name, thread: reply.caller.pid)
      } catch .noEntry {
        continue
      }
      let fits = item.name.bytes.withUnsafeBytes {
        reply.add($0, status.liveEntry(at: item.name.bytes), next: item.cookie.rawValue)
      }
      guard fits else {
        tree.forget(status.number, count: 1)
        return false
      }
      given.append(status.number)
    }
    return true
  }

  private func add(
    _ name: StaticString, _ status: InodeStatus, next: Int64, to reply: inout DirectoryPlusReply
  ) {
    name.withUTF8Buffer { _ = reply.add(UnsafeRawBufferPointer($0), status.liveEntry, next: next) }
  }

  func releasedir(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    close(file.handle, of: node)
    reply.done()
  }

  private func close(_ handle: HandleID, of node: NodeID) {
    if let directory = OpenObject.object(handle) as? OpenLiveDirectory, directory.isCached {
      dropOvertaken(directory, node)
      listings.end(of: node.number)
    }
    OpenObject.close(handle)
  }

  /// Drops what the kernel cached with a listing that was open when the kernel was notified of other names.
  private func dropOvertaken(_ directory: OpenLiveDirectory, _ node: NodeID) {
    if directory.isCached, listings.isOvertaken(node.number) {
      session.value?.notifier.invalidateListingAtOnce(node)
    }
  }

  func fsyncdir(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply) {
    guard !Self.isMeta(node) else { return reply.done() }
    session.value?.aboutToBlock()
    answer(reply) { () throws(FSError) in try tree.sync() }
  }
}
