import HistoryTree
import Inodes
import LLVSCore
import TreeNames
import WorkingTree

@testable import TreeSupport

/// What Linux remembers of a live tree: names, absent ones too, listings, attributes and pages, each until it
/// is told, or changes it itself.
///
/// Whoever looks through it sees what a program sees, also where the tree is right and the kernel was not
/// told.
final class KernelModel {
  private struct Name: Hashable {
    var parent: UInt64
    var name: [UInt8]
  }

  let tree: TreeSession
  /// The node at each name; ``absent`` where there is none.
  private var names: [Name: UInt64] = [:]
  private static let absent: UInt64 = 0
  private var statuses: [UInt64: NodeStatus] = [:]
  private var listings: [UInt64: [NameListing.Item]] = [:]
  private var pages: [UInt64: [UInt8]] = [:]
  /// Look-ups that were answered, by node.
  private var lookups: [UInt64: UInt64] = [:]
  /// How many names lead to a node, and how often it is open.
  private var uses: [UInt64: Int] = [:]
  /// What was written since somebody last asked.
  private var written: [UInt8] = []

  init(_ tree: TreeSession) {
    self.tree = tree
  }

  // MARK: - Being told

  func take(_ told: [KernelNotice]) {
    for one in told {
      switch one {
      case .attributes(let number): statuses[number.rawValue] = nil
      case .name(let place):
        drop(Name(parent: place.directory.rawValue, name: place.name.bytes))
      case .listing(let directory): listings[directory.rawValue] = nil
      }
    }
  }

  private func drop(_ name: Name) {
    guard let id = names.removeValue(forKey: name), id != Self.absent else { return }
    release(id)
  }

  private func use(_ id: UInt64) { uses[id, default: 0] += 1 }

  private func release(_ id: UInt64) {
    uses[id, default: 1] -= 1
    guard uses[id] == 0 else { return }
    uses[id] = nil
    // A directory goes with all that is known below it.
    for name in names.keys where name.parent == id { drop(name) }
    statuses[id] = nil
    listings[id] = nil
    pages[id] = nil
    if let count = lookups.removeValue(forKey: id) { tree.forget(id, count: count) }
  }

  /// Forgets every node, as with memory that is needed for something else.
  func forgetAll() {
    for (id, count) in lookups { tree.forget(id, count: count) }
    (names, statuses, listings, pages, lookups, uses) = ([:], [:], [:], [:], [:], [:])
  }

  private func enter(_ status: NodeStatus, at name: Name) {
    lookups[status.node, default: 0] += 1
    use(status.node)
    drop(name)
    names[name] = status.node
    statuses[status.node] = status
  }

  /// Names of a directory come or go here.
  private func changed(_ parent: UInt64) {
    listings[parent] = nil
    statuses[parent] = nil
  }

  // MARK: - Looking

  /// The node at a name; nil where there is none.
  func node(_ name: [UInt8], in parent: UInt64) throws -> UInt64? {
    let place = Name(parent: parent, name: name)
    if let known = names[place] { return known == Self.absent ? nil : known }
    do {
      let status = try tree.lookup(parent, name)
      enter(status, at: place)
      return status.node
    } catch FSError.noEntry {
      names[place] = Self.absent
      return nil
    }
  }

  func status(_ id: UInt64) throws -> NodeStatus {
    if let known = statuses[id] { return known }
    let status = try tree.getattr(id)
    statuses[id] = status
    return status
  }

  func list(_ id: UInt64) throws -> [NameListing.Item] {
    if let known = listings[id] { return known }
    let items = Array(try tree.list(id).items.dropFirst(2))
    listings[id] = items
    return items
  }

  /// Bytes as far as the size goes that is known; those that are in memory are not asked for.
  func bytes(_ id: UInt64) throws -> [UInt8] {
    let size = try Int(status(id).size)
    let known = pages[id] ?? []
    var bytes = Array(known.prefix(size))
    if bytes.count < size {
      var failure: (any Error)?
      bytes += [UInt8](unsafeUninitializedCapacity: size - bytes.count) { buffer, used in
        do {
          used = try tree.read(
            id, at: UInt64(known.count), into: UnsafeMutableRawBufferPointer(buffer))
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
    }
    pages[id] = bytes
    return bytes
  }

  func bytes(at path: String) throws -> [UInt8] { try again { try bytes(walk(path)) } }

  func target(_ id: UInt64) throws -> [UInt8] { try tree.readlink(id) }

  func extended(_ id: UInt64) throws -> [[UInt8]: [UInt8]] {
    var found: [[UInt8]: [UInt8]] = [:]
    for name in try tree.listxattr(id).split(separator: 0) {
      found[Array(name)] = try tree.getxattr(id, Array(name))
    }
    return found
  }

  /// Does what a path is given to, and looks the path up anew where a number is nobody's any more, once: as the
  /// kernel does with ESTALE.
  func again<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch FSError.stale {
      for name in Array(names.keys) { drop(name) }
      return try body()
    }
  }

  /// The node at a path, "" for the root.
  func walk(_ path: String) throws -> UInt64 {
    var id = TreeSession.rootInode
    for part in path.utf8.split(separator: 0x2F) {
      guard let next = try node(Array(part), in: id) else { throw FSError.noEntry }
      id = next
    }
    return id
  }

  private func place(_ path: String) throws -> Name {
    let parts = path.split(separator: "/", omittingEmptySubsequences: true)
    guard let last = parts.last else { throw FSError.invalid }
    return Name(
      parent: try walk(parts.dropLast().joined(separator: "/")), name: Array(last.utf8))
  }

  // MARK: - Changing

  static let caller = Caller(uid: 1000, gid: 1000, process: 1)

  /// A file that is open; ``close(_:)`` it.
  struct Open {
    let handle: LiveHandle
    let id: UInt64
  }

  func open(_ path: String, _ mode: LiveHandle.Mode) throws -> Open {
    try again {
      let id = try walk(path)
      let handle = try tree.open(id, mode: mode)
      use(id)
      if mode.contains(.truncate) { forgetBytes(id) }
      if handle.dropsPages { pages[id] = nil }
      return Open(handle: handle, id: id)
    }
  }

  func create(_ path: String) throws -> Open {
    try again {
      let place = try place(path)
      guard try node(place.name, in: place.parent) == nil else { throw FSError.exists }
      let (status, handle) = try tree.create(
        place.parent, place.name, mode: 0o644, open: [.write, .created], caller: Self.caller)
      changed(place.parent)
      enter(status, at: place)
      use(status.node)
      return Open(handle: handle, id: status.node)
    }
  }

  func write(_ open: Open, _ bytes: [UInt8], at offset: UInt64) throws {
    try bytes.withUnsafeBytes { try tree.write(open.handle, at: offset, $0) }
    written += bytes
    statuses[open.id] = nil
    // What is in memory gets the bytes too, and stays.
    guard var known = pages[open.id], known.count >= offset else { return }
    let start = Int(offset)
    known.replaceSubrange(start..<min(start + bytes.count, known.count), with: bytes)
    pages[open.id] = known
  }

  /// All bytes that were written since this was last called.
  func takeWritten() -> [UInt8] {
    defer { written = [] }
    return written
  }

  func flush(_ open: Open) throws { try tree.flush(open.handle) }

  func sync(_ open: Open) throws { try tree.fsync(open.handle) }

  func close(_ open: Open) throws {
    try tree.flush(open.handle)
    try tree.release(open.handle)
    release(open.id)
  }

  private func forgetBytes(_ id: UInt64) {
    statuses[id] = nil
    pages[id] = nil
  }

  /// Writes a whole file as a shell's redirection does.
  func save(_ path: String, _ bytes: [UInt8]) throws {
    let file = try again {
      let place = try place(path)
      guard let known = try node(place.name, in: place.parent) else { return try create(path) }
      guard try status(known).kind == .regular else { throw FSError.exists }
      return try open(path, [.write, .truncate])
    }
    try write(file, bytes, at: 0)
    try close(file)
  }

  func resize(_ path: String, to size: UInt64) throws {
    try change(path) { $0.size = size }
    try again { forgetBytes(try walk(path)) }
  }

  func change(_ path: String, _ body: (inout StatusChange) -> Void) throws {
    try again {
      let id = try walk(path)
      var change = StatusChange()
      body(&change)
      statuses[id] = try tree.setattr(id, change)
    }
  }

  func setExtended(_ path: String, _ name: String, _ value: [UInt8]?) throws {
    try again {
      let id = try walk(path)
      if let value {
        try tree.setxattr(id, Array(name.utf8), value, mode: .either)
      } else {
        try tree.removexattr(id, Array(name.utf8))
      }
      statuses[id] = nil
    }
  }

  func makeDirectory(_ path: String) throws {
    try make(path) { try tree.makeDirectory($0, $1, mode: 0o755, caller: Self.caller) }
  }

  func makeLink(_ path: String, to target: String) throws {
    try make(path) {
      try tree.makeSymlink($0, $1, target: Array(target.utf8), caller: Self.caller)
    }
  }

  func makePipe(_ path: String) throws {
    try make(path) {
      try tree.makeNode($0, $1, kind: .fifo, mode: 0o644, caller: Self.caller)
    }
  }

  func link(_ from: String, _ to: String) throws {
    try again {
      let id = try walk(from)
      guard try status(id).kind != .directory else { throw FSError.notPermitted }
      try make(to) { try tree.link(id, $0, $1) }
    }
  }

  private func make(_ path: String, _ body: (UInt64, [UInt8]) throws -> NodeStatus) throws {
    try again {
      let place = try place(path)
      guard try node(place.name, in: place.parent) == nil else { throw FSError.exists }
      let status = try body(place.parent, place.name)
      changed(place.parent)
      enter(status, at: place)
    }
  }

  func remove(_ path: String) throws {
    try again {
      let place = try place(path)
      guard let id = try node(place.name, in: place.parent) else { throw FSError.noEntry }
      if try status(id).kind == .directory {
        try tree.removeDirectory(place.parent, place.name)
      } else {
        try tree.unlink(place.parent, place.name)
      }
      changed(place.parent)
      statuses[id] = nil
      drop(place)
      names[place] = Self.absent
    }
  }

  /// Removes a directory with all below it, as rm -r does.
  func removeAll(_ path: String) throws {
    let items = try again {
      let id = try walk(path)
      return try status(id).kind == .directory ? list(id) : []
    }
    for item in items { try removeAll(path + "/" + String(decoding: item.name, as: UTF8.self)) }
    try remove(path)
  }

  func rename(_ from: String, _ to: String) throws {
    try again {
      let (source, target) = (try place(from), try place(to))
      guard let id = try node(source.name, in: source.parent) else { throw FSError.noEntry }
      let over = try node(target.name, in: target.parent)
      // The kernel's own check: two names of one file.
      if over == id { return }
      try tree.rename(
        source.parent, source.name, target.parent, target.name, mode: .replacing)
      changed(source.parent)
      changed(target.parent)
      statuses[id] = nil
      if let over { statuses[over] = nil }
      use(id)
      drop(source)
      drop(target)
      names[source] = Self.absent
      names[target] = id
    }
  }
}
