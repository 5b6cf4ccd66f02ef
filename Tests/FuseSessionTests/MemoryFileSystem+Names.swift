import Foundation
import FuseSession
import Synchronization

extension MemoryFileSystem {
  func mknod(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, device: UInt64,
    reply: consuming EntryReply
  ) {
    switch add("mknod", name, in: parent, mode: mode & ~reply.caller.umask, device: device) {
    case .success(let entry): reply.entry(entry)
    case .failure(let error): reply.error(error.code)
    }
  }

  func mkdir(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, reply: consuming EntryReply
  ) {
    switch add("mkdir", name, in: parent, mode: 0o040000 | mode & ~reply.caller.umask) {
    case .success(let entry): reply.entry(entry)
    case .failure(let error): reply.error(error.code)
    }
  }

  func symlink(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, target: UnsafeRawBufferPointer,
    reply: consuming EntryReply
  ) {
    switch add("symlink", name, in: parent, mode: 0o120777, bytes: Array(target)) {
    case .success(let entry): reply.entry(entry)
    case .failure(let error): reply.error(error.code)
    }
  }

  func create(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32, flags: Int32,
    reply: consuming CreateReply
  ) {
    let options = state.withLock { $0.openOptions }
    switch add("create", name, in: parent, mode: mode & ~reply.caller.umask) {
    case .success(let entry): reply.created(entry, HandleID(entry.node.rawValue), options)
    case .failure(let error): reply.error(error.code)
    }
  }

  func link(
    _ node: NodeID, as name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EntryReply
  ) {
    let entry = state.withLock { state in
      Self.note(&state, "link", String(decoding: name, as: UTF8.self))
      state.nodes[parent]?.children[Array(name)] = node
      state.nodes[node]?.attributes.linkCount += 1
      return Self.entry(&state, node)
    }
    guard let entry else { return reply.error(ENOENT) }
    reply.entry(entry)
  }

  private func remove(
    _ call: String, _ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply
  ) {
    let old = state.withLock { state in
      Self.note(&state, call, String(decoding: name, as: UTF8.self))
      return state.nodes[parent]?.children.removeValue(forKey: Array(name))
    }
    reply.error(old == nil ? ENOENT : 0)
  }

  func unlink(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply) {
    remove("unlink", name, in: parent, reply: reply)
  }

  func rmdir(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EmptyReply) {
    remove("rmdir", name, in: parent, reply: reply)
  }

  func rename(
    _ name: UnsafeRawBufferPointer, in parent: NodeID, to newName: UnsafeRawBufferPointer,
    in newParent: NodeID, flags: RenameFlags, reply: consuming EmptyReply
  ) {
    let code: Int32 = state.withLock { state in
      Self.note(&state, "rename", "flags \(flags.rawValue)")
      guard let node = state.nodes[parent]?.children[Array(name)] else { return ENOENT }
      let other = state.nodes[newParent]?.children[Array(newName)]
      if flags.contains(.noReplace), other != nil { return EEXIST }
      state.nodes[parent]?.children[Array(name)] = flags.contains(.exchange) ? other : nil
      state.nodes[newParent]?.children[Array(newName)] = node
      return 0
    }
    reply.error(code)
  }

  func opendir(_ node: NodeID, flags: Int32, reply: consuming OpenReply) {
    state.withLock { Self.note(&$0, "opendir") }
    reply.opened(HandleID(node.rawValue), [.cacheReaddir])
  }

  func releasedir(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    state.withLock { Self.note(&$0, "releasedir") }
    reply.done()
  }

  func fsyncdir(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply) {
    state.withLock { Self.note(&$0, "fsyncdir") }
    reply.done()
  }

  private func listing(_ node: NodeID) -> [(name: [UInt8], id: NodeID)] {
    state.withLock { state in
      (state.nodes[node]?.children ?? [:]).map { (name: $0.key, id: $0.value) }
    }.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  func readdir(_ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryReply) {
    state.withLock { Self.note(&$0, "readdir") }
    let all = listing(node)
    for index in Int(offset)..<max(all.count, Int(offset)) {
      let (name, id) = all[index]
      let mode = state.withLock { $0.nodes[id]?.attributes.mode ?? 0 }
      let added = name.withUnsafeBytes {
        reply.add($0, inode: id.rawValue, mode: mode, next: Int64(index + 1))
      }
      if !added { break }
    }
    reply.finish()
  }

  func readdirplus(
    _ node: NodeID, file: OpenFile, offset: Int64, reply: consuming DirectoryPlusReply
  ) {
    state.withLock { Self.note(&$0, "readdirplus") }
    let all = listing(node)
    for index in Int(offset)..<max(all.count, Int(offset)) {
      let (name, id) = all[index]
      // The look-up is counted before the kernel can give it back.
      guard let entry = state.withLock({ Self.entry(&$0, id) }) else { continue }
      if !name.withUnsafeBytes({ reply.add($0, entry, next: Int64(index + 1)) }) {
        state.withLock { $0.nodes[id]?.lookups -= 1 }
        break
      }
    }
    reply.finish()
  }
}
