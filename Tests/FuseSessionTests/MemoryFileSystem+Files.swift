import Foundation
import FuseSession
import Synchronization

extension MemoryFileSystem {
  private func isNamed(_ name: String, _ node: NodeID, _ state: inout State) -> Bool {
    state.nodes[.root]?.children[Array(name.utf8)] == node
  }

  func open(
    _ node: NodeID, flags: Int32, clearsSetIDs: Bool, reply: consuming OpenReply
  ) {
    let (error, options) = state.withLock { state -> (Int32, OpenOptions) in
      Self.note(&state, "open")
      if flags & O_TRUNC != 0 {
        Self.note(&state, "open", "truncating")
        state.nodes[node]?.bytes = []
        state.nodes[node]?.attributes.size = 0
      }
      if clearsSetIDs { Self.note(&state, "open", "clearing") }
      if flags & (1 << 30) != 0 { Self.note(&state, "open", "marked") }
      if flags & O_APPEND != 0 { Self.note(&state, "open", "appending") }
      if state.parking.contains(node) { return (0, .directIO) }
      return (state.openError, state.openOptions)
    }
    guard error == 0 else { return reply.error(error) }
    reply.opened(HandleID(node.rawValue), options)
  }

  private enum Source {
    case bytes([UInt8])
    case parked
  }

  func read(
    _ node: NodeID, file: OpenFile, offset: Int64, count: Int, reply: consuming DataReply
  ) {
    let source: Source = state.withLock { state in
      Self.note(&state, "read")
      if state.parking.contains(node) { return .parked }
      let bytes = state.nodes[node]?.bytes ?? []
      return .bytes(Array(bytes.dropFirst(Int(offset)).prefix(count)))
    }
    // A disk that takes a second.
    if state.withLock({ isNamed("slow", node, &$0) }) { usleep(1_000_000) }
    switch source {
    case .bytes(let bytes): reply.bytes(bytes)
    case .parked:
      let parked = ParkedReply(reply)
      state.withLock { $0.parkedReads.append(parked) }
    }
  }

  func write(
    _ node: NodeID, file: OpenFile, offset: Int64, bytes: UnsafeRawBufferPointer,
    reply: consuming WriteReply
  ) {
    let parks = state.withLock { state in
      Self.note(&state, "write", file.clearsSetIDs ? "clearing" : "")
      if file.flags & (1 << 30) != 0 { Self.note(&state, "write", "marked") }
      if bytes.count > 128 << 10 { Self.note(&state, "large write") }
      if state.parking.contains(node) { return true }
      let end = Int(offset) + bytes.count
      guard var found = state.nodes.removeValue(forKey: node) else { return false }
      if found.bytes.count < end {
        found.bytes += [UInt8](repeating: 0, count: end - found.bytes.count)
      }
      found.bytes.replaceSubrange(Int(offset)..<end, with: bytes)
      found.attributes.size = UInt64(found.bytes.count)
      state.nodes[node] = found
      return false
    }
    guard parks else { return reply.wrote(bytes.count) }
    let parked = ParkedReply(reply) { parked in
      self.state.withLock { Self.note(&$0, "interrupted") }
      parked.take()?.error(EINTR)
    }
    state.withLock { $0.parkedWrites.append(parked) }
  }

  /// Answers all that is parked, as if `bytes` were the answer to every read and write.
  func answerParked(_ bytes: [UInt8]) {
    let (writes, reads) = state.withLock { state in
      defer {
        state.parkedWrites = []
        state.parkedReads = []
      }
      return (state.parkedWrites, state.parkedReads)
    }
    for write in writes { write.take()?.wrote(bytes.count) }
    for read in reads { read.take()?.bytes(bytes) }
  }

  func flush(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    state.withLock { Self.note(&$0, "flush") }
    reply.done()
  }

  func release(_ node: NodeID, file: OpenFile, reply: consuming EmptyReply) {
    state.withLock {
      Self.note(&$0, "release", file.handle.rawValue == node.rawValue ? "right handle" : "")
    }
    reply.done()
  }

  func fsync(_ node: NodeID, file: OpenFile, dataOnly: Bool, reply: consuming EmptyReply) {
    state.withLock { Self.note(&$0, "fsync", dataOnly ? "data" : "all") }
    reply.done()
  }

  func fallocate(
    _ node: NodeID, file: OpenFile, mode: Int32, offset: Int64, count: Int64,
    reply: consuming EmptyReply
  ) {
    state.withLock { Self.note(&$0, "fallocate", "\(mode) \(offset) \(count)") }
    reply.done()
  }

  func lseek(
    _ node: NodeID, file: OpenFile, offset: Int64, whence: Int32, reply: consuming OffsetReply
  ) {
    state.withLock { Self.note(&$0, "lseek", "\(whence) \(offset)") }
    reply.offset(offset + 7)
  }
}
