import FuseSession
import HistoryTree
import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

// Serves look-ups, and the requests that make and remove names.

extension MountOperations {
  func lookup(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EntryReply) {
    let name = Self.bytes(name)
    if name == [0x2E] || name == [0x2E, 0x2E] {
      return lookup(parent, above: name.count == 2, reply: reply)
    }
    guard !Self.isMeta(parent), name != ReservedName.bytes else {
      return metaLookup(name, in: parent, reply: reply)
    }
    if isAnnounced(reply.request), let entry = announcedEntry(name, in: parent) {
      reply.entry(entry)
      return
    }
    do throws(FSError) {
      let status = try tree.lookup(parent.number, FileName(name), thread: reply.caller.pid)
      if !reply.entry(status.liveEntry(at: name)) { tree.forget(status.number, count: 1) }
    } catch .noEntry {
      // The kernel caches that the name is absent; a merge that makes the name notifies it.
      reply.entry(.absent(timeout: InodeStatus.timeout(at: name)))
    } catch {
      reply.error(errno(of: error))
    }
  }

  /// Answers with the node of a number, or its parent, for open_by_handle_at(2).
  private func lookup(_ node: NodeID, above: Bool, reply: consuming EntryReply) {
    do throws(FSError) {
      let isMeta = Self.isMeta(node)
      let number = above && isMeta ? try meta.parent(of: node.rawValue) : node.rawValue
      guard !Self.isMeta(NodeID(number)) else {
        return answers.lookup(reply: reply) { () throws(FSError) in
          try meta.lookup(number: number)
        }
      }
      // The search may read all of the head.
      session.value?.aboutToBlock()
      let status = try tree.lookup(
        number: InodeNumber(number), above: above && !isMeta, thread: reply.caller.pid)
      if !reply.entry(status.liveEntry) { tree.forget(status.number, count: 1) }
    } catch {
      reply.error(errno(of: error))
    }
  }

  func forget(_ node: NodeID, count: UInt64) {
    if Self.isMeta(node) {
      meta.forget(node.rawValue, count: count)
    } else {
      tree.forget(node.number, count: count)
    }
  }

  /// Answers with a node that `body` makes in a directory of the tree.
  private func make(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EntryReply,
    _ body: () throws(FSError) -> InodeStatus
  ) {
    guard !Self.isMeta(parent) else {
      return refuseToMake(Self.bytes(name), in: parent, reply: reply)
    }
    if isAnnounced(reply.request) {
      return announceMade(Self.bytes(name), in: parent, reply: reply)
    }
    answer(reply, changed: parent, body)
  }

  /// Answers with a node that has a new name, and lowers its look-up count if the request was aborted.
  private func answer(
    _ reply: consuming EntryReply, changed parent: NodeID, _ body: () throws(FSError) -> InodeStatus
  ) {
    answers.answer(reply, try body()) { reply, status in
      changed([parent.number], by: reply.caller.pid)
      if !reply.entry(status.liveEntry) { tree.forget(status.number, count: 1) }
    }
  }

  func mknod(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, device: UInt64,
    reply: consuming EntryReply
  ) {
    let type = mode & 0o170000
    let kind: EntryKind? = type == 0 ? .regular : EntryKind.allCases.first { $0.typeBits == type }
    let caller = caller(reply)
    make(name, in: parent, reply: reply) { () throws(FSError) in
      guard let kind else { throw .invalid }
      return try tree.makeNode(
        parent.number, Self.fileName(name), kind: kind, mode: mode,
        device: Attributes.Device(number: device), caller: caller)
    }
  }

  func mkdir(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, reply: consuming EntryReply
  ) {
    let caller = caller(reply)
    make(name, in: parent, reply: reply) { () throws(FSError) in
      try tree.makeDirectory(parent.number, Self.fileName(name), mode: mode, caller: caller)
    }
  }

  func symlink(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, target: UnsafeRawBufferPointer,
    reply: consuming EntryReply
  ) {
    let caller = caller(reply)
    make(name, in: parent, reply: reply) { () throws(FSError) in
      try tree.makeSymlink(
        parent.number, Self.fileName(name), target: Array(target), caller: caller)
    }
  }

  func link(
    _ node: NodeID, as name: UnsafeRawBufferPointer, in parent: NodeID,
    reply: consuming EntryReply
  ) {
    // A file of history can have no name in the working tree, and none can be made in history.
    guard !Self.isMeta(node), !Self.isMeta(parent) else {
      return reply.error(Errno.readOnlyFileSystem)
    }
    let before = tree.publications
    let process = process(of: reply)
    answer(reply, changed: parent) { () throws(FSError) in
      let status = try tree.link(
        node.number, parent.number, Self.fileName(name), process: process)
      Faults.replying("link", of: live.store.path)
      return status
    }
    doubt(node, since: before)
  }

  func unlink(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply) {
    remove(name, in: parent, isDirectory: false, reply: reply)
  }

  func rmdir(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply) {
    remove(name, in: parent, isDirectory: true, reply: reply)
  }

  private func remove(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, isDirectory: Bool,
    reply: consuming EmptyReply
  ) {
    let process = process(of: reply)
    if Self.isMeta(parent) {
      let name = Self.bytes(name)
      // It may settle a conflict.
      return later(reply) { [meta] () throws(FSError) in
        guard isDirectory else { return try meta.unlink(parent.rawValue, name, by: process) }
        try meta.removeDirectory(parent.rawValue, name, by: process)
      }
    }
    if isAnnounced(reply.request) {
      return announceRemoved(Self.bytes(name), in: parent, reply: reply)
    }
    let thread = reply.caller.pid
    answer(reply) { () throws(FSError) in
      if isDirectory {
        let name = Self.bytes(name)
        guard name != ReservedName.bytes else { throw .notPermitted }
        try tree.removeDirectory(parent.number, FileName(name), process: process)
      } else {
        try tree.unlink(parent.number, Self.fileName(name), process: process)
      }
      changed([parent.number], by: thread)
    }
  }

  func rename(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, to newName: UnsafeRawBufferPointer,
    in newParent: NodeID, flags: RenameFlags, reply: consuming EmptyReply
  ) {
    let mode: RenameMode
    switch flags {
    case []: mode = .replacing
    case .noReplace: mode = .noReplace
    case .exchange: mode = .exchange
    default: return reply.error(Errno.invalid)
    }
    let process = process(of: reply)
    if Self.isMeta(parent), Self.isMeta(newParent) {
      let (from, to) = (Self.bytes(name), Self.bytes(newName))
      return later(reply) { [meta] () throws(FSError) in
        try meta.rename(parent.rawValue, from, newParent.rawValue, to, mode: mode)
      }
    }
    let thread = reply.caller.pid
    answer(reply) { () throws(FSError) in
      guard !Self.isMeta(parent), !Self.isMeta(newParent) else { throw .readOnly }
      let moved = try tree.rename(
        InodeName(directory: parent.number, name: Self.fileName(name)),
        to: InodeName(directory: newParent.number, name: Self.fileName(newName)), mode: mode,
        process: process)
      changed(moved + [parent.number, newParent.number], by: thread)
    }
  }

  /// Makes the kernel ask again for attributes, if another thread may later give it the old ones.
  func changed(_ numbers: [InodeNumber], by thread: Int32) {
    for number in tree.outdated(numbers, by: thread) {
      session.value?.notifier.invalidateAttributesAtOnce(NodeID(number.rawValue))
    }
  }

  func answer(_ reply: consuming EmptyReply, _ body: () throws(FSError) -> Void) {
    answers.answer(reply, try body()) { reply, _ in reply.done() }
  }
}
