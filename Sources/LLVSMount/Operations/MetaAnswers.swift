import Events
import FuseSession
import HistoryTree
import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

/// Answers from a meta tree; both sessions that show one use it.
struct MetaAnswers: Sendable {
  let meta: MetaTree
  let tree: TreeSession

  /// Returns the errno of an error, and logs damage.
  func errno(of error: FSError) -> Int32 {
    if let damage = error.damage { tree.damage.tell(damage) }
    return error.errno
  }

  /// Sends the value that `find` returns, or its error.
  func answer<R: FuseReply & ~Copyable, Value>(
    _ reply: consuming R, _ find: @autoclosure () throws(FSError) -> Value,
    _ send: (consuming R, Value) -> Void
  ) {
    let value: Value
    do throws(FSError) { value = try find() } catch { return reply.error(errno(of: error)) }
    send(reply, value)
  }

  /// Answers with the entry of `find`, which has counted the look-up.
  func lookup(reply: consuming EntryReply, _ find: () throws(FSError) -> MetaEntry) {
    do throws(FSError) {
      let entry = try find()
      if !reply.entry(entry.fuseEntry) { meta.forget(entry.status.number.rawValue, count: 1) }
    } catch {
      // Aliases and settings appear and disappear: the kernel must not cache that a name is absent.
      reply.error(errno(of: error))
    }
  }

  /// The number of names that are fetched at a time: about as many as a reply holds.
  private static let batch = 64

  /// Lists names. If there are any, calls `goesOn`, before it answers, with the offset after the last one.
  func readdir(
    _ directory: MetaDirectory, offset: Int64, reply: consuming DirectoryReply,
    goesOn: (UInt64) -> Void = { _ in }
  ) {
    var reply = reply
    var at = UInt64(clamping: offset)
    let start = at
    do throws(FSError) {
      filling: while true {
        let items = try directory.next(after: at, limit: Self.batch)
        for item in items {
          let fits = item.name.withUnsafeBytes {
            reply.add(
              $0, inode: item.inode, mode: item.kind.typeBits, next: Int64(clamping: item.next))
          }
          guard fits else { break filling }
          at = item.next
        }
        if items.isEmpty { break }
      }
      if at > start { goesOn(at) }
      reply.finish()
    } catch {
      reply.error(errno(of: error))
    }
  }

  func readdirplus(
    _ directory: MetaDirectory, offset: Int64, reply: consuming DirectoryPlusReply,
    goesOn: (UInt64) -> Void = { _ in }
  ) {
    var reply = reply
    var at = UInt64(clamping: offset)
    let start = at
    var given: [UInt64] = []
    do throws(FSError) {
      filling: while true {
        let items = try directory.next(after: at, limit: Self.batch)
        for item in items {
          guard try add(item, of: directory, to: &reply, &given) else { break filling }
          at = item.next
        }
        if items.isEmpty { break }
      }
      if at > start { goesOn(at) }
      if !reply.finish() { for inode in given { meta.forget(inode, count: 1) } }
    } catch {
      for inode in given { meta.forget(inode, count: 1) }
      reply.error(errno(of: error))
    }
  }

  /// Adds a name with its attributes; returns false if the reply is full.
  private func add(
    _ item: MetaDirectory.Item, of directory: MetaDirectory,
    to reply: inout DirectoryPlusReply, _ given: inout [UInt64]
  ) throws(FSError) -> Bool {
    if item.name == [0x2E] || item.name == [0x2E, 0x2E] {
      // The kernel counts no look-up for these.
      let status =
        MetaTree.owns(item.inode)
        ? try meta.getattr(item.inode) : try tree.files.status(of: InodeNumber(item.inode))
      var entry = status.liveEntry
      entry.entryTimeout = 0
      entry.attributeTimeout = 0
      return item.name.withUnsafeBytes { reply.add($0, entry, next: Int64(clamping: item.next)) }
    }
    if directory.isCostly(item) {
      let attributes = FileAttributes(inode: item.inode, mode: item.kind.typeBits)
      let entry = EntryAttributes(
        node: NodeID(0), attributes: attributes, entryTimeout: 0, attributeTimeout: 0)
      return item.name.withUnsafeBytes { reply.add($0, entry, next: Int64(clamping: item.next)) }
    }
    let entry: MetaEntry
    do throws(FSError) {
      entry = try directory.lookup(item)
    } catch .noEntry {
      return true
    }
    let fits = item.name.withUnsafeBytes {
      reply.add($0, entry.fuseEntry, next: Int64(clamping: item.next))
    }
    if fits {
      given.append(entry.status.number.rawValue)
    } else {
      meta.forget(entry.status.number.rawValue, count: 1)
    }
    return fits
  }

  func read(_ file: MetaFile, offset: Int64, count: Int, reply: consuming DataReply) {
    read(count, reply: reply) { (room) throws(FSError) in
      try file.read(at: UInt64(offset), into: room)
    }
  }

  /// Answers with at most `count` bytes that `fill` reads.
  func read(
    _ count: Int, reply: consuming DataReply,
    _ fill: (UnsafeMutableRawBufferPointer) throws(FSError) -> Int
  ) {
    var pending = Optional(reply)
    withUnsafeTemporaryAllocation(byteCount: max(count, 1), alignment: 16) { buffer in
      do throws(FSError) {
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        let got = try fill(room)
        pending.take()?.bytes(UnsafeRawBufferPointer(rebasing: room[..<got]))
      } catch {
        pending.take()?.error(errno(of: error))
      }
    }
  }

  func seek(_ file: MetaFile?, offset: Int64, whence: Int32, reply: consuming OffsetReply) {
    guard whence == SeekFlags.data || whence == SeekFlags.hole, let file else {
      return reply.error(Errno.invalid)
    }
    guard offset >= 0 else { return reply.error(Errno.noSuchDeviceOrAddress) }
    answer(reply, try file.seek(from: UInt64(offset), toData: whence == SeekFlags.data)) {
      $0.offset(Int64(clamping: $1))
    }
  }

  func statfs(reply: consuming StatisticsReply) {
    do throws(SystemError) {
      let disk = try FileSystem.fileSystem(of: tree.store.path)
      var numbers = FileSystemStatistics()
      numbers.blockSize = disk.blockSize
      numbers.blocks = disk.blocks
      // Space that fallocate(2) promised to files is not free, although none of the disk is reserved for them.
      let given = tree.files.roomBytes / max(1, disk.blockSize)
      numbers.freeBlocks = disk.freeBlocks - min(disk.freeBlocks, given)
      numbers.availableBlocks = disk.availableBlocks - min(disk.availableBlocks, given)
      numbers.files = disk.files
      numbers.freeFiles = disk.freeFiles
      reply.statistics(numbers)
    } catch {
      reply.error(error.errno)
    }
  }
}
