import Control
import FuseSession
import Grammar
import HistoryTree
import Inodes
import Platform
import TreeNames
import WorkingTree

// Serves `.llvs`: nodes from 2^40 on, and the name for it in directories of the tree.

extension MountOperations {
  static func isMeta(_ node: NodeID) -> Bool { MetaTree.owns(node.rawValue) }

  func metaLookup(_ name: [UInt8], in parent: NodeID, reply: consuming EntryReply) {
    answers.lookup(reply: reply) { () throws(FSError) in
      Self.isMeta(parent)
        ? try meta.lookup(parent.rawValue, name) : try meta.metaDirectory(of: parent.rawValue)
    }
  }

  /// Refuses to make a node: only writable directories below `.llvs` accept new files, with CREATE.
  func refuseToMake(_ name: [UInt8], in parent: NodeID, reply: consuming EntryReply) {
    do throws(FSError) {
      try meta.refuseToMake(parent.rawValue, name)
    } catch {
      reply.error(errno(of: error))
    }
  }

  func metaOpendir(_ node: NodeID, reply: consuming OpenReply) {
    answers.answer(reply, try meta.openDirectory(node.rawValue)) { reply, directory in
      let number = OpenMetaDirectory(directory).number()
      let options: OpenOptions = directory.isLasting ? [.cacheReaddir, .keepCache] : []
      if !reply.opened(number, options) { OpenObject.close(number) }
    }
  }

  // Warm, open + read + close take 12 to 15 us (ext4: 3 to 4), mostly OPEN. ENOSYS saves it for whole mounts:
  // ``HistoryMount``, an option because umount(8) is busy then, it needs root, and it covers one `.llvs` only.
  func metaOpen(_ node: NodeID, flags: Int32, reply: consuming OpenReply) {
    guard live.isShowing, meta.tellsPending(node.rawValue) else {
      return metaOpenNow(node, flags: flags, reply: reply)
    }
    let parked = ParkedReply(reply) { $0.take()?.error(Errno.interrupted) }
    pool.run { [self] in
      live.awaitShown()
      if let reply = parked.take() { metaOpenNow(node, flags: flags, reply: reply) }
    }
  }

  private func metaOpenNow(_ node: NodeID, flags: Int32, reply: consuming OpenReply) {
    let writes = flags & OpenFlags.accessMode != OpenFlags.readOnly
    let truncates = flags & OpenFlags.truncate != 0
    answers.answer(
      reply, try meta.open(node.rawValue, writing: writes, truncating: truncates)
    ) { reply, file in
      let object: OpenObject
      let options: OpenOptions
      switch file.kind {
      case .control:
        object = OpenControl(ControlSession(control, pool: pool))
        options = .directIO
      case .value:
        object = OpenMetaFile(file, in: control.openHistory)
        options = [.keepCache, .noFlush]
      case .generated, .writable:
        object = OpenMetaFile(file, in: control.openHistory)
        options = .directIO
      }
      let number = object.number()
      if !reply.opened(number, options) {
        file.release()
        OpenObject.close(number)
      }
    }
  }

  func metaCreate(_ name: [UInt8], in parent: NodeID, mode: UInt32, reply: consuming CreateReply) {
    answers.answer(reply, try meta.create(parent.rawValue, name, mode: mode)) { reply, made in
      let (entry, file) = made
      let number = OpenMetaFile(file, in: control.openHistory).number()
      if !reply.created(entry.fuseEntry, number, .directIO) {
        file.release()
        meta.forget(entry.status.number.rawValue, count: 1)
        OpenObject.close(number)
      }
    }
  }

  func metaRead(_ file: OpenFile, offset: Int64, count: Int, reply: consuming DataReply) {
    switch OpenObject.object(file.handle) {
    case let open as OpenMetaFile:
      answers.read(open.file, offset: offset, count: count, reply: reply)
    case let open as OpenControl:
      controlRead(open.session, offset: offset, count: count, reply: reply)
    default:
      reply.error(Errno.invalid)
    }
  }

  func metaWrite(
    _ file: OpenFile, offset: Int64, bytes: UnsafeRawBufferPointer, reply: consuming WriteReply
  ) {
    switch OpenObject.object(file.handle) {
    case let open as OpenMetaFile:
      answers.answer(reply, try open.file.write(at: UInt64(offset), bytes)) { reply, _ in
        reply.wrote(bytes.count)
      }
    case let open as OpenControl:
      controlWrite(open.session, bytes, reply: reply)
    default:
      reply.error(Errno.invalid)
    }
  }

  func metaFlush(_ file: OpenFile, reply: consuming EmptyReply) {
    // Commands run in WRITE, never here, because each closed descriptor, even an inherited one, sends a flush.
    let meta = (OpenObject.object(file.handle) as? OpenMetaFile)?.file
    guard let meta, meta.changesStore else {
      return answer(reply) { () throws(FSError) in try meta?.flush() }
    }
    later(reply) { () throws(FSError) in try meta.flush() }
  }

  /// Runs `body` on the pool: it may wait for a command or for the kernel.
  func later(
    _ reply: consuming EmptyReply, _ body: @escaping @Sendable () throws(FSError) -> Void
  ) {
    let parked = ParkedReply(reply)
    pool.run {
      do throws(FSError) {
        try body()
        parked.take()?.done()
      } catch {
        parked.take()?.error(self.errno(of: error))
      }
    }
  }

  func metaRelease(_ file: OpenFile, reply: consuming EmptyReply) {
    if let meta = (OpenObject.object(file.handle) as? OpenMetaFile)?.file {
      if meta.changesStore { pool.run { meta.release() } } else { meta.release() }
    }
    (OpenObject.object(file.handle) as? OpenControl)?.session.close()
    reply.done()
    OpenObject.close(file.handle)
  }

  /// Reads on a thread of the pool, because a status may read the disk.
  private func controlRead(
    _ session: ControlSession, offset: Int64, count: Int, reply: consuming DataReply
  ) {
    let parked = ParkedReply(reply) { $0.take()?.error(Errno.interrupted) }
    pool.run {
      do throws(ControlError) {
        let bytes = try session.read(at: UInt64(clamping: offset), count: count)
        parked.take()?.bytes(bytes)
      } catch {
        parked.take()?.error(error.asFSError.errno)
      }
    }
  }

  /// Runs commands on another thread; a signal to the writer stops them and fails the write with EINTR.
  private func controlWrite(
    _ session: ControlSession, _ bytes: UnsafeRawBufferPointer, reply: consuming WriteReply
  ) {
    let pending = Monitor<(ControlSession.Pending?, Bool)>((nil, false))
    let parked = ParkedReply(reply) { _ in
      let running = pending.withLock { state -> ControlSession.Pending? in
        state.1 = true
        return state.0
      }
      running?.cancel()
    }
    let started = session.write(Array(bytes)) { result in
      switch result {
      case .success(let count): parked.take()?.wrote(count)
      case .failure(let error): parked.take()?.error(error.asFSError.errno)
      }
    }
    let isInterrupted = pending.withLock { state -> Bool in
      state.0 = started
      return state.1
    }
    if isInterrupted { started.cancel() }
  }
}
