import Control
import FuseSession
import HistoryTree
import LLVSCore
import Platform
import TreeNames
import WorkingTree

extension MountOperations {
  func getattr(_ node: NodeID, file: OpenFile?, reply: consuming AttributesReply) {
    do throws(FSError) {
      if Self.isMeta(node) {
        let entry = try meta.entry(of: node.rawValue)
        return reply.attributes(
          entry.status.attributes, timeout: entry.isLasting ? EntryAttributes.forever : 0)
      }
      let status = try tree.status(of: node.number, thread: reply.caller.pid)
      Faults.replying("getattr", of: live.store.path)
      reply.attributes(status.attributes, timeout: EntryAttributes.forever)
    } catch {
      reply.error(errno(of: error))
    }
  }

  func setattr(
    _ node: NodeID, _ changes: SetAttributes, file: OpenFile?, reply: consuming AttributesReply
  ) {
    if !Self.isMeta(node), isAnnounced(reply.request) { return announceChanged(node, reply: reply) }
    do throws(FSError) {
      if Self.isMeta(node) {
        let open = file.flatMap { OpenObject.object($0.handle) as? OpenMetaFile }
        let status = try meta.setattr(
          node.rawValue, changes.change, through: open?.file)
        return reply.attributes(status.attributes, timeout: 0)
      }
      let handle = file.flatMap { (OpenObject.object($0.handle) as? OpenLiveFile)?.handle }
      if handle == nil, changes.change.size != nil,
        tree.mustLookUpAgain(node.number, thread: reply.caller.pid)
      {
        return reply.error(Errno.stale)
      }
      let process = process(of: reply)
      // The bits depend on the file's group before the change; they are cleared only if the change can be made.
      var change = changes.change
      change.movesChangeTime = changes.namesNothing
      if changes.clearsSetIDs || change.movesChangeTime {
        change.lostSetIDs = try setIDsLost(of: node, reply.request)
      }
      let before = tree.publications
      let status = try tree.setattr(node.number, change, through: handle, process: process)
      Faults.replying("setattr", of: live.store.path)
      reply.attributes(status.attributes, timeout: EntryAttributes.forever)
      doubt(node, since: before)
    } catch {
      reply.error(errno(of: error))
    }
  }

  /// Makes the kernel ask again for attributes: old kernels prefer SETATTR and LINK to a later notification.
  func doubt(_ node: NodeID, since publications: UInt64) {
    guard tree.publications != publications else { return }
    session.value?.notifier.invalidateAttributes(node)
  }

  /// Returns the set-id bits that a file loses because of a request.
  private func setIDsLost(of node: NodeID, _ request: RequestPointer) throws(FSError) -> UInt32 {
    try tree.setIDsLost(node.number) { group in
      // Root may keep them; for changes of the owner the kernel sets the flag for every caller.
      request.caller.uid == 0 || request.isCallerMember(of: group)
    }
  }

  /// Clears the set-id bits of a file before a caller that may not keep them changes it.
  func clearSetIDs(of node: NodeID, _ request: RequestPointer) throws(FSError) {
    let lost = try setIDsLost(of: node, request)
    guard lost != 0 else { return }
    try tree.clearMode(lost, of: node.number)
    // Until it is notified, the kernel uses the cached mode, also when it runs the file.
    session.value?.notifier.invalidateAttributesAtOnce(node)
  }

  func getxattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming XattrReply) {
    do throws(FSError) {
      let name = Self.bytes(name)
      guard !Self.isMeta(node) else { return reply.value(try meta.getxattr(node.rawValue, name)) }
      if let value = try control.documentAttribute(name, of: node.number) {
        return reply.value(value)
      }
      if name.starts(with: WorkingTree.ownPrefix), live.isShowing {
        return getxattrOnceShown(node, name, reply: reply)
      }
      reply.value(try tree.getxattr(node.number, name))
    } catch {
      reply.error(errno(of: error))
    }
  }

  /// Answers a file's state relative to versions after the newest one is shown, on a thread of the pool.
  private func getxattrOnceShown(_ node: NodeID, _ name: [UInt8], reply: consuming XattrReply) {
    let parked = ParkedReply(reply) { $0.take()?.error(Errno.interrupted) }
    pool.run { [self] in
      live.awaitShown()
      do throws(FSError) {
        let value = try tree.getxattr(node.number, name)
        parked.take()?.value(value)
      } catch {
        parked.take()?.error(errno(of: error))
      }
    }
  }

  func listxattr(_ node: NodeID, reply: consuming XattrReply) {
    answers.answer(
      reply,
      Self.isMeta(node) ? try meta.listxattr(node.rawValue) : try tree.listxattr(node.number)
    ) { $0.value($1) }
  }

  func setxattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, flags: Int32,
    reply: consuming EmptyReply
  ) {
    guard !Self.isMeta(node) else {
      return reply.error(meta.refusalOfExtended(of: node.rawValue).errno)
    }
    var mode: ExtendedMode = []
    if flags & 1 != 0 { mode.insert(.create) }
    if flags & 2 != 0 { mode.insert(.replace) }
    guard flags & ~3 == 0 else { return reply.error(Errno.invalid) }
    let process = process(of: reply)
    let request = reply.request
    answer(reply) { () throws(FSError) in
      let name = Self.bytes(name)
      let lost = name == ExtendedName.accessACL ? try groupBitLost(of: node, request) : 0
      try tree.setxattr(
        node.number, name, Array(value), mode: mode, lostSetIDs: lost, process: process)
      // The kernel caches the ctime, and the mode, which a list changes.
      session.value?.notifier.invalidateAttributesAtOnce(node)
    }
  }

  /// Returns the set-group-ID bit if a caller loses it with an ACL that changes the mode, as in chmod(2).
  private func groupBitLost(of node: NodeID, _ request: RequestPointer) throws(FSError) -> UInt32 {
    guard request.caller.uid != 0 else { return 0 }
    return request.isCallerMember(of: try tree.status(of: node.number).gid) ? 0 : 0o2000
  }

  func removexattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming EmptyReply) {
    guard !Self.isMeta(node) else {
      return reply.error(meta.refusalOfExtended(of: node.rawValue).errno)
    }
    let process = process(of: reply)
    answer(reply) { () throws(FSError) in
      try tree.removexattr(node.number, Self.bytes(name), process: process)
      session.value?.notifier.invalidateAttributesAtOnce(node)
    }
  }

  func statfs(_ node: NodeID, reply: consuming StatisticsReply) { answers.statfs(reply: reply) }
}
