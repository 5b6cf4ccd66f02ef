// A small file system in memory that answers everything, for tests of the session itself.

import Foundation
import FuseSession
import Synchronization

final class MemoryFileSystem: FuseOperations {
  struct Node {
    var attributes: FileAttributes
    var bytes: [UInt8] = []
    var children: [[UInt8]: NodeID] = [:]
    var xattrs: [[UInt8]: [UInt8]] = [:]
    var parent = NodeID.root
    var lookups: UInt64 = 0
  }

  struct State {
    var nodes: [NodeID: Node] = [:]
    var next: UInt64 = 2
    var calls: [String: Int] = [:]
    var details: Set<String> = []
    var connection: ConnectionInfo?
    /// Files whose reads and writes wait for ``answerParked(_:)``.
    var parking: Set<NodeID> = []
    var parkedWrites: [ParkedReply<WriteReply>] = []
    var parkedReads: [ParkedReply<DataReply>] = []
    /// True if requests for attributes are dropped.
    var isDropping = false
    var openOptions: OpenOptions = [.keepCache]
    var openError: Int32 = 0
  }

  let state = Mutex(State())

  init() {
    state.withLock { state in
      var root = Node(attributes: FileAttributes(inode: 1, mode: 0o040755))
      root.attributes.linkCount = 2
      state.nodes[.root] = root
    }
  }

  // Called with the lock held.
  static func note(_ state: inout State, _ call: String, _ detail: String = "") {
    state.calls[call, default: 0] += 1
    if !detail.isEmpty { state.details.insert("\(call) \(detail)") }
  }

  func calls(_ name: String) -> Int { state.withLock { $0.calls[name] ?? 0 } }
  func saw(_ detail: String) -> Bool { state.withLock { $0.details.contains(detail) } }

  /// Adds a file behind the kernel's back.
  @discardableResult
  func plant(_ name: String, _ bytes: [UInt8] = [], mode: UInt32 = 0o100644) -> NodeID {
    state.withLock { Self.make(&$0, Array(name.utf8), in: .root, mode: mode, bytes: bytes) }
  }

  /// Adds a file whose reads and writes wait.
  func plantParking(_ name: String) {
    let node = plant(name)
    state.withLock { _ = $0.parking.insert(node) }
  }

  @discardableResult
  static func make(
    _ state: inout State, _ name: [UInt8], in parent: NodeID, mode: UInt32, bytes: [UInt8] = []
  ) -> NodeID {
    let id = NodeID(state.next)
    state.next += 1
    var node = Node(attributes: FileAttributes(inode: id.rawValue, mode: mode), bytes: bytes)
    node.attributes.size = UInt64(bytes.count)
    node.parent = parent
    state.nodes[id] = node
    state.nodes[parent]?.children[name] = id
    return id
  }

  static func entry(_ state: inout State, _ id: NodeID) -> EntryAttributes? {
    guard state.nodes[id] != nil else { return nil }
    state.nodes[id]?.lookups += 1
    return state.nodes[id].map { EntryAttributes(node: id, attributes: $0.attributes) }
  }

  /// Makes a node for a request, or says why not.
  func add(
    _ call: String, _ name: UnsafeRawBufferPointer, in parent: NodeID, mode: UInt32,
    bytes: [UInt8] = [], device: UInt64 = 0
  ) -> Result<EntryAttributes, Errno> {
    state.withLock { state in
      Self.note(
        &state, call, "\(String(decoding: name, as: UTF8.self)) \(String(mode, radix: 8)) \(device)"
      )
      guard state.nodes[parent]?.children[Array(name)] == nil else {
        return .failure(Errno(EEXIST))
      }
      let id = Self.make(&state, Array(name), in: parent, mode: mode, bytes: bytes)
      state.nodes[id]?.attributes.device = device
      guard let entry = Self.entry(&state, id) else { return .failure(Errno(EIO)) }
      return .success(entry)
    }
  }

  struct Errno: Error {
    let code: Int32
    init(_ code: Int32) { self.code = code }
  }
}

extension MemoryFileSystem {
  func initialized(_ connection: ConnectionInfo) {
    state.withLock { $0.connection = connection }
  }

  func lookup(_ name: UnsafeRawBufferPointer, in parent: NodeID, reply: consuming EntryReply) {
    let caller = reply.caller
    let entry: EntryAttributes? = state.withLock { state in
      Self.note(&state, "lookup", "uid \(caller.uid)")
      guard let id = state.nodes[parent]?.children[Array(name)] else { return nil }
      return Self.entry(&state, id)
    }
    reply.entry(entry ?? .absent(timeout: EntryAttributes.forever))
  }

  func forget(_ node: NodeID, count: UInt64) {
    state.withLock { state in
      Self.note(&state, "forget")
      guard let lookups = state.nodes[node]?.lookups else { return }
      if lookups < count { Self.note(&state, "forget too often") }
      state.nodes[node]?.lookups = lookups >= count ? lookups - count : 0
    }
  }

  func getattr(_ node: NodeID, file: OpenFile?, reply: consuming AttributesReply) {
    if state.withLock({ $0.isDropping }) { return }
    let attributes = state.withLock { state in
      Self.note(&state, "getattr")
      return state.nodes[node]?.attributes
    }
    guard let attributes else { return reply.error(ENOENT) }
    reply.attributes(attributes, timeout: EntryAttributes.forever)
  }

  func setattr(
    _ node: NodeID, _ changes: SetAttributes, file: OpenFile?, reply: consuming AttributesReply
  ) {
    let attributes: FileAttributes? = state.withLock { state in
      Self.note(&state, "setattr", changes.clearsSetIDs ? "clearing" : "")
      guard var found = state.nodes[node] else { return nil }
      if let mode = changes.mode {
        found.attributes.mode = found.attributes.mode & 0o170000 | mode & 0o7777
        Self.note(&state, "setattr", "mode \(String(mode & 0o7777, radix: 8))")
      }
      if let uid = changes.uid { found.attributes.uid = uid }
      if let gid = changes.gid { found.attributes.gid = gid }
      if let size = changes.size {
        let count = Int(size)
        found.bytes = Array(found.bytes.prefix(count))
        found.bytes += [UInt8](repeating: 0, count: count - found.bytes.count)
        found.attributes.size = size
        Self.note(&state, "setattr", "size \(size) \(file == nil ? "by path" : "by handle")")
      }
      switch changes.modified {
      case .at(let time):
        found.attributes.modified = time
        Self.note(&state, "setattr", "mtime \(time.seconds).\(time.nanoseconds)")
      case .now:
        found.attributes.modified = FileTime(seconds: Int64(time(nil)))
        Self.note(&state, "setattr", "mtime now")
      case nil: break
      }
      if case .at(let time) = changes.accessed { found.attributes.accessed = time }
      state.nodes[node] = found
      return found.attributes
    }
    guard let attributes else { return reply.error(ENOENT) }
    reply.attributes(attributes, timeout: EntryAttributes.forever)
  }

  func readlink(_ node: NodeID, reply: consuming DataReply) {
    let bytes = state.withLock { state in
      Self.note(&state, "readlink")
      return state.nodes[node]?.bytes
    }
    guard let bytes else { return reply.error(ENOENT) }
    reply.bytes(bytes)
  }

  func statfs(_ node: NodeID, reply: consuming StatisticsReply) {
    var statistics = FileSystemStatistics()
    statistics.blocks = 1000
    statistics.availableBlocks = 500
    statistics.freeBlocks = 600
    statistics.files = 42
    reply.statistics(statistics)
  }

  func setxattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, flags: Int32,
    reply: consuming EmptyReply
  ) {
    state.withLock { state in
      Self.note(&state, "setxattr", "flags \(flags)")
      state.nodes[node]?.xattrs[Array(name)] = Array(value)
    }
    reply.done()
  }

  func getxattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming XattrReply) {
    let value = state.withLock { state in
      Self.note(&state, "getxattr", String(decoding: name, as: UTF8.self))
      return state.nodes[node]?.xattrs[Array(name)]
    }
    guard let value else { return reply.error(ENODATA) }
    reply.value(value)
  }

  func listxattr(_ node: NodeID, reply: consuming XattrReply) {
    let names = state.withLock {
      $0.nodes[node].map { Array($0.xattrs.keys.map { $0 + [0] }.joined()) }
    }
    reply.value(names ?? [])
  }

  func removexattr(_ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming EmptyReply) {
    let old = state.withLock { $0.nodes[node]?.xattrs.removeValue(forKey: Array(name)) }
    reply.error(old == nil ? ENODATA : 0)
  }
}
