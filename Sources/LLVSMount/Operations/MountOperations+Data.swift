import FuseSession
import HistoryTree
import LLVSCore
import Platform
import TreeNames
import WorkingTree

// Serves open, read, write and the other requests about bytes.

extension MountOperations {
  private static func mode(_ flags: Int32) -> OpenMode {
    // With raw bits: option sets of another module are not inlined here, and a literal of two took 2 us.
    var bits: UInt8
    switch flags & OpenFlags.accessMode {
    case OpenFlags.readOnly: bits = OpenMode.read.rawValue
    case OpenFlags.writeOnly: bits = OpenMode.write.rawValue
    default: bits = OpenMode.read.rawValue | OpenMode.write.rawValue
    }
    if flags & OpenFlags.append != 0 { bits |= OpenMode.append.rawValue }
    if flags & OpenFlags.truncate != 0 { bits |= OpenMode.truncate.rawValue }
    return OpenMode(rawValue: bits)
  }

  private static func file(_ file: OpenFile) -> OpenLiveFile? {
    OpenObject.object(file.handle) as? OpenLiveFile
  }

  private static func handle(_ file: OpenFile) -> HandleNumber? { Self.file(file)?.handle }

  func open(_ node: NodeID, flags: Int32, clearsSetIDs: Bool, reply: consuming OpenReply) {
    guard !Self.isMeta(node) else { return metaOpen(node, flags: flags, reply: reply) }
    if isAnnounced(reply.request) { return announceOpened(reply) }
    if tree.mustLookUpAgain(node.number, thread: reply.caller.pid) {
      return reply.error(Errno.stale)
    }
    do throws(FSError) {
      if clearsSetIDs { try clearSetIDs(of: node, reply.request) }
      let process = process(of: reply)
      let mode = Self.mode(flags)
      let opened = try tree.open(
        node.number, mode: mode, process: process,
        accessing: flags & OpenFlags.noAccessTime == 0)
      if opened.hasMovedAccessTime { session.value?.notifier.invalidateAttributesAtOnce(node) }
      let number = OpenLiveFile(opened.handle, mode: mode).number()
      // Cached pages stay valid: only this mount changes bytes, and a merge notifies the kernel.
      var options: OpenOptions = mode.contains(.write) ? .keepCache : [.keepCache, .noFlush]
      if opened.dropsPages { options.remove(.keepCache) }
      if !reply.opened(number, options) {
        try? tree.release(opened.handle)
        OpenObject.close(number)
      }
    } catch {
      reply.error(errno(of: error))
    }
  }

  func create(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, flags: Int32,
    reply: consuming CreateReply
  ) {
    guard !Self.isMeta(parent) else {
      let mode = mode & ~reply.caller.umask
      return metaCreate(Self.bytes(name), in: parent, mode: mode, reply: reply)
    }
    let caller = caller(reply)
    let open = Self.mode(flags)
    do throws(FSError) {
      let (status, handle) = try tree.create(
        parent.number, Self.fileName(name), mode: mode, open: open, caller: caller)
      changed([parent.number], by: reply.caller.pid)
      let number = OpenLiveFile(handle, mode: open).number()
      if !reply.created(status.liveEntry, number, .keepCache) {
        try? tree.release(handle)
        tree.forget(status.number, count: 1)
        OpenObject.close(number)
      }
    } catch .exists where flags & OpenFlags.exclusive == 0 {
      // A merge made the name before the kernel was notified: after ESTALE the kernel looks the name up again.
      reply.error(Errno.stale)
    } catch {
      reply.error(errno(of: error))
    }
  }

  func read(_ node: NodeID, file: OpenFile, offset: Int64, count: Int, reply: consuming DataReply) {
    guard offset >= 0, count >= 0, count <= 16 << 20 else { return reply.error(Errno.invalid) }
    guard !Self.isMeta(node) else {
      return metaRead(file, offset: offset, count: count, reply: reply)
    }
    if let open = Self.file(file), open.mode.contains(.write) { tree.noteRead(open.handle) }
    answers.read(count, reply: reply) { (room) throws(FSError) in
      try live.read(
        node.number, at: UInt64(offset), into: room,
        accessing: file.flags & OpenFlags.noAccessTime == 0)
    }
  }

  func write(
    _ node: NodeID, file: OpenFile, offset: Int64, bytes: UnsafeRawBufferPointer,
    reply: consuming WriteReply
  ) {
    guard offset >= 0 else { return reply.error(Errno.invalid) }
    guard !Self.isMeta(node) else {
      return metaWrite(file, offset: offset, bytes: bytes, reply: reply)
    }
    guard let handle = Self.handle(file) else { return reply.error(Errno.invalid) }
    do throws(FSError) {
      if file.clearsSetIDs { try clearSetIDs(of: node, reply.request) }
      try tree.write(handle, at: UInt64(offset), bytes, mapped: file.isFromPageCache)
      // An answer on its way to another program may have the old times, and the kernel would keep them.
      if file.isFromPageCache { session.value?.notifier.invalidateAttributesAtOnce(node) }
      reply.wrote(bytes.count)
    } catch {
      reply.error(errno(of: error))
    }
  }

  func flush(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    guard !Self.isMeta(node) else { return metaFlush(file, reply: reply) }
    answer(reply) { () throws(FSError) in
      if let handle = Self.handle(file) { try tree.flush(handle) }
    }
  }

  func release(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    guard !Self.isMeta(node) else { return metaRelease(file, reply: reply) }
    let handle = Self.handle(file)
    answer(reply) { () throws(FSError) in
      if let handle { try tree.release(handle) }
    }
    OpenObject.close(file.handle)
  }

  func fsync(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply) {
    guard !Self.isMeta(node) else { return metaFlush(file, reply: reply) }
    session.value?.aboutToBlock()
    answer(reply) { () throws(FSError) in
      if let handle = Self.handle(file) { try tree.fsync(handle) }
    }
  }

  func fallocate(
    _ node: NodeID, file: OpenFile, mode: Int32, offset: Int64, count: Int64,
    reply: consuming EmptyReply
  ) {
    guard !Self.isMeta(node) else { return reply.error(Errno.notSupported) }
    guard offset >= 0, count > 0, let handle = Self.handle(file) else {
      return reply.error(Errno.invalid)
    }
    let (end, overflows) = offset.addingReportingOverflow(count)
    guard !overflows else { return reply.error(Errno.fileTooBig) }
    let keeps = mode & AllocationFlags.keepSize != 0
    let punches = mode & AllocationFlags.punchHole != 0
    let zeroes = punches || mode & AllocationFlags.zeroRange != 0
    switch mode & ~AllocationFlags.keepSize {
    case 0, AllocationFlags.zeroRange: break
    case AllocationFlags.punchHole where keeps: break
    default: return reply.error(Errno.notSupported)
    }
    // The kernel does not say which callers may keep them; only root may.
    let mayKeepSetIDs = reply.caller.uid == 0
    let request = reply.request
    answer(reply) { () throws(FSError) in
      if !mayKeepSetIDs { try clearSetIDs(of: node, request) }
      try tree.allocate(
        handle, range: UInt64(offset)..<UInt64(end), zeroing: zeroes, keepingSize: keeps,
        room: punches ? nil : try freeBytes())
      // The kernel would keep older times, as after a WRITE of mapped pages.
      session.value?.notifier.invalidateAttributesAtOnce(node)
    }
  }

  private func freeBytes() throws(FSError) -> UInt64 {
    try FSError.wrapping { () throws(SystemError) in
      let disk = try FileSystem.fileSystem(of: live.store.path)
      let (bytes, overflows) = disk.availableBlocks.multipliedReportingOverflow(by: disk.blockSize)
      return overflows ? .max : bytes
    }
  }

  func lseek(
    _ node: NodeID, file: OpenFile, offset: Int64, whence: Int32, reply: consuming OffsetReply
  ) {
    guard !Self.isMeta(node) else {
      let open = OpenObject.object(file.handle) as? OpenMetaFile
      return answers.seek(open?.file, offset: offset, whence: whence, reply: reply)
    }
    guard whence == SeekFlags.data || whence == SeekFlags.hole else {
      return reply.error(Errno.invalid)
    }
    guard offset >= 0 else { return reply.error(Errno.noSuchDeviceOrAddress) }
    let toData = whence == SeekFlags.data
    answers.answer(
      reply, try tree.seek(node.number, from: UInt64(offset), toData: toData)
    ) { reply, place in
      guard let doubted = place.doubted, let notifier = session.value?.notifier else {
        return reply.place(place)
      }
      seek(
        node, from: UInt64(offset), toData: toData, doubted, notifier: notifier,
        parked: ParkedReply(reply))
    }
  }

  /// Makes the kernel write mapped pages until a hole is certain; on the pool, because those writes are served too.
  private func seek(
    _ node: NodeID, from offset: UInt64, toData: Bool, _ doubted: Range<UInt64>,
    notifier: Notifier, parked: ParkedReply<OffsetReply>
  ) {
    pool.run { [self] in
      do throws(FSError) {
        var doubted = doubted
        while true {
          let length = Int64(clamping: doubted.count)
          notifier.invalidate(node, offset: Int64(clamping: doubted.lowerBound), length: length)
          notifier.flush()
          let place = try tree.seek(node.number, from: offset, toData: toData)
          // Bytes written behind the requested range are no hole any more, so the loop ends.
          guard let next = place.doubted, !toData, next.lowerBound >= doubted.upperBound else {
            parked.take()?.place(place)
            return
          }
          doubted = next
        }
      } catch {
        parked.take()?.error(errno(of: error))
      }
    }
  }

  func readlink(_ node: NodeID, reply: consuming DataReply) {
    answers.answer(
      reply,
      Self.isMeta(node) ? try meta.readlink(node.rawValue) : try live.readlink(node.number)
    ) { $0.bytes($1) }
  }
}

extension OffsetReply {
  fileprivate consuming func place(_ place: SoughtPlace) {
    guard let found = place.offset else { return error(Errno.noSuchDeviceOrAddress) }
    offset(Int64(clamping: found))
  }
}

/// The flags of open(2), with Linux's numbers.
enum OpenFlags {
  static let accessMode: Int32 = 0o3
  static let readOnly: Int32 = 0
  static let writeOnly: Int32 = 1
  static let exclusive: Int32 = 0o200
  static let truncate: Int32 = 0o1000
  static let append: Int32 = 0o2000
  static let noAccessTime: Int32 = 0o1000000
}

/// The modes of fallocate(2), with Linux's numbers.
enum AllocationFlags {
  static let keepSize: Int32 = 1
  static let punchHole: Int32 = 2
  static let zeroRange: Int32 = 0x10
}

/// The values of lseek(2) for data and holes, with Linux's numbers.
enum SeekFlags {
  static let data: Int32 = 3
  static let hole: Int32 = 4
}
