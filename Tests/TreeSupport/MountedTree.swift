import Events
import Grammar
import Inodes
import LLVSCore
import Platform
import TestSupport
import TreeNames
import WorkingTree

/// A store with its live tree, as a mount has them, driven by paths.
final class MountedTree {
  let path: String
  private(set) var tree: TreeSession
  private(set) var recovery: TreeSession.Recovery
  private(set) var told = Told()
  static let caller = Caller(uid: 1000, gid: 1000, process: 1)

  /// What the kernel was told.
  final class Told: @unchecked Sendable {
    // Unchecked: appended by the one thread that runs transitions in a test.
    var all: [KernelNotice] = []
  }

  init(_ directory: String, settings: StoreSettings = StoreSettings()) throws {
    path = directory + "/s"
    let store = try Store.open(path: path, mode: .writer, create: true)
    let told = Told()
    self.told = told
    (tree, recovery) = try TreeSession.open(
      store, defaults: AttributeDefaults(uid: 1000, gid: 1000), ignore: .defaults,
      settings: settings
    ) { told.all += $0 }
  }

  /// One whose saves count after an hour, so that what is told apart by time is not by chance.
  static func unhurried(_ directory: String) throws -> MountedTree {
    var settings = StoreSettings()
    settings.settle = 3_600_000_000_000
    return try MountedTree(directory, settings: settings)
  }

  var store: Store { tree.store }

  /// Changes the nanoseconds in which no write must follow a save that counts.
  func settle(_ time: UInt64) {
    tree.storeSettings.settle = time
    tree.noteSettings()
  }

  /// The directory and name of a path.
  func place(_ path: String) throws -> (UInt64, [UInt8]) {
    let parts = path.utf8.split(separator: 0x2F).map { Array($0) }
    var inode = TreeSession.rootInode
    for part in parts.dropLast() {
      let next = try tree.lookup(inode, part).inode
      if inode != TreeSession.rootInode { tree.forget(inode, count: 1) }
      inode = next
    }
    return (inode, parts.last ?? [])
  }

  /// Runs a body with the directory and name of a path, and lets the directory be forgotten.
  func with<R>(_ path: String, _ body: (UInt64, [UInt8]) throws -> R) throws -> R {
    let (parent, name) = try place(path)
    defer { forget(parent) }
    return try body(parent, name)
  }

  func forget(_ inode: UInt64) {
    if inode != TreeSession.rootInode { tree.forget(inode, count: 1) }
  }

  /// The status of what stands at a path; the kernel forgets it again.
  func status(_ path: String) throws -> NodeStatus {
    if path.isEmpty { return try tree.getattr(TreeSession.rootInode) }
    return try with(path) { parent, name in
      let status = try tree.lookup(parent, name)
      forget(status.node)
      return status
    }
  }

  func inode(_ path: String) throws -> UInt64 { try status(path).inode }

  func open(_ path: String, _ mode: LiveHandle.Mode) throws -> LiveHandle {
    try with(path) { parent, name in
      let status = try tree.lookup(parent, name)
      defer { forget(status.node) }
      return try tree.open(status.node, mode: mode)
    }
  }

  func create(_ path: String, _ mode: LiveHandle.Mode = .write) throws -> LiveHandle {
    try with(path) { parent, name in
      let (status, handle) = try tree.create(
        parent, name, mode: 0o644, open: mode, caller: Self.caller)
      forget(status.node)
      return handle
    }
  }

  func write(_ handle: LiveHandle, _ bytes: [UInt8], at offset: UInt64 = 0) throws {
    try bytes.withUnsafeBytes { try tree.write(handle, at: offset, $0) }
  }

  func close(_ handle: LiveHandle) throws {
    try tree.flush(handle)
    try tree.release(handle)
  }

  /// Writes a file as a program does that creates or empties it.
  func save(_ path: String, _ bytes: [UInt8]) throws {
    let handle: LiveHandle
    if (try? status(path)) != nil {
      handle = try open(path, [.write, .truncate])
    } else {
      handle = try create(path)
    }
    try write(handle, bytes)
    try close(handle)
  }

  func save(_ path: String, _ text: String) throws { try save(path, Array(text.utf8)) }

  func makeDirectory(_ path: String) throws {
    try with(path) { parent, name in
      forget(try tree.makeDirectory(parent, name, mode: 0o755, caller: Self.caller).inode)
    }
  }

  func unlink(_ path: String) throws { try with(path) { try tree.unlink($0, $1) } }

  func removeDirectory(_ path: String) throws {
    try with(path) { try tree.removeDirectory($0, $1) }
  }

  func rename(
    _ from: String, _ to: String, _ mode: RenameMode = .replacing
  ) throws {
    try with(from) { parent, name in
      try with(to) { try tree.rename(parent, name, $0, $1, mode: mode) }
    }
  }

  func link(_ from: String, _ to: String) throws {
    try with(from) { parent, name in
      let status = try tree.lookup(parent, name)
      defer { forget(status.node) }
      try with(to) { forget(try tree.link(status.node, $0, $1).inode) }
    }
  }

  func change(_ path: String, _ body: (inout StatusChange) -> Void) throws {
    var change = StatusChange()
    body(&change)
    try with(path) { parent, name in
      let status = try tree.lookup(parent, name)
      defer { forget(status.node) }
      _ = try tree.setattr(status.node, change)
    }
  }

  func bytes(ofInode inode: UInt64) throws -> [UInt8] {
    var all: [UInt8] = []
    var failure: (any Error)?
    while true {
      let part = [UInt8](unsafeUninitializedCapacity: 100_000) { buffer, used in
        do {
          let raw = UnsafeMutableRawBufferPointer(buffer)
          used = try tree.read(inode, at: UInt64(all.count), into: raw)
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      if part.isEmpty { return all }
      all += part
    }
  }

  func bytes(_ path: String) throws -> [UInt8] {
    try with(path) { parent, name in
      let status = try tree.lookup(parent, name)
      defer { forget(status.node) }
      return try bytes(ofInode: status.node)
    }
  }

  func text(_ path: String) -> String? {
    (try? bytes(path)).map(Self.text)
  }

  /// Bytes as text, or what tells them from others where they are none.
  ///
  /// Not repaired: the standard library throws at each byte that it repairs, and while tests run, each error
  /// that is thrown has its backtrace taken, which made seconds of some megabytes.
  static func text(_ bytes: [UInt8]) -> String {
    String(validating: bytes, as: UTF8.self)
      ?? "\(bytes.count) bytes that are no text, \(Digest.of(bytes))"
  }

  func names(_ path: String = "") throws -> Set<String> {
    let listing: NameListing
    if path.isEmpty {
      listing = try tree.list(TreeSession.rootInode)
    } else {
      listing = try with(path) { parent, name in
        let inode = try tree.lookup(parent, name).inode
        defer { forget(inode) }
        return try tree.list(inode)
      }
    }
    return Set(listing.items.dropFirst(2).map { String(decoding: $0.name, as: UTF8.self) })
  }

  @discardableResult
  func cut(_ reason: CutReason = .command) throws -> CutOutcome {
    try tree.cut(reason)
  }

  /// What a version holds, as text by path; directories end in a slash.
  func version(_ record: VersionRecord?) throws -> [String: String] {
    guard let record else { return [:] }
    var found: [String: String] = [:]
    let view = TreeView(map: store.map(record.map))
    var walk = view.entries(below: [])
    while let (path, entry) = try walk.next() {
      let name = String(decoding: path, as: UTF8.self)
      found[entry.isDirectory ? name + "/" : name] = Self.text(try store.bytes(entry.stored))
    }
    return found
  }

  /// What the head holds.
  func head() throws -> [String: String] {
    let state = try store.state()
    return try version(state.head.flatMap { try store.version($0) })
  }

  func entry(_ path: String) throws -> Entry? {
    let state = try store.state()
    guard let record = try state.head.flatMap({ try store.version($0) }) else { return nil }
    switch try TreeView(map: store.map(record.map)).find(path: Array(path.utf8)) {
    case .value(let entry)?: return entry
    case .directory(let entry)?: return entry
    case nil: return nil
    }
  }
}

extension Store {
  /// All bytes of a stored value.
  func bytes(_ stored: StoredContent) throws -> [UInt8] {
    var failure: (any Error)?
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(stored.length)) { buffer, used in
      do {
        used = try contents.read(stored, at: 0, into: UnsafeMutableRawBufferPointer(buffer))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}
