import HistoryTree
import LLVSCore
import Platform
import TestSupport
import TreeNames
import WorkingTree

@testable import Control
@testable import Grammar

/// A live tree with everything below its `.llvs`, without a mount.
final class MetaWorkspace: Sendable {
  let space: ControlWorkspace
  let meta: MetaTree

  var tree: TreeSession { space.tree }
  var store: Store { space.store }

  init() throws {
    space = try ControlWorkspace()
    meta = MetaTree(
      live: space.tree, services: ControlMetaServices(space.service), calendar: .utc)
  }

  // MARK: - The live tree

  /// The inode of a live directory, which is made if it is missing.
  @discardableResult
  func directory(_ path: String) throws -> UInt64 {
    var inode = TreeSession.rootInode
    for name in path.split(separator: "/") {
      let bytes = Array(name.utf8)
      if let known = try? tree.lookup(inode, bytes) {
        inode = known.inode
      } else {
        inode = try tree.makeDirectory(
          inode, bytes, mode: 0o755, caller: ControlWorkspace.caller
        ).inode
      }
    }
    return inode
  }

  func remove(_ path: String) throws {
    let parts = path.split(separator: "/")
    let parent = try directory(parts.dropLast().joined(separator: "/"))
    try tree.unlink(parent, Array((parts.last ?? "").utf8))
  }

  func write(_ path: String, _ text: String) throws {
    let parts = path.split(separator: "/")
    let parent = try directory(parts.dropLast().joined(separator: "/"))
    let name = Array((parts.last ?? "").utf8)
    let handle: LiveHandle
    if let known = try? tree.lookup(parent, name) {
      handle = try tree.open(known.node, mode: [.write, .truncate])
    } else {
      handle = try tree.create(
        parent, name, mode: 0o644, open: [.write, .created], caller: ControlWorkspace.caller
      ).1
    }
    try Array(text.utf8).withUnsafeBytes { try tree.write(handle, at: 0, $0) }
    try tree.flush(handle)
    try tree.release(handle)
  }

  /// Commits and returns the new version's name.
  @discardableResult
  func commit(_ message: String = "") throws -> String {
    try space.run("commit \(message)")
    return try space.head ?? ""
  }

  // MARK: - Below .llvs

  /// Finds a path, from the root or a live directory, links not followed.
  func find(_ path: String, from live: UInt64 = TreeSession.rootInode) throws -> MetaEntry {
    var entry = try meta.metaDirectory(of: live)
    for name in path.split(separator: "/") {
      entry = try meta.lookup(entry.status.inode, Array(name.utf8))
    }
    return entry
  }

  /// What a path's error is; nil if it is there.
  func failure(_ path: String, from live: UInt64 = TreeSession.rootInode) -> FSError? {
    do {
      _ = try find(path, from: live)
      return nil
    } catch {
      return error as? FSError
    }
  }

  func link(_ path: String, from live: UInt64 = TreeSession.rootInode) throws -> String {
    String(
      decoding: try meta.readlink(try find(path, from: live).status.inode), as: UTF8.self)
  }

  func items(
    _ path: String, from live: UInt64 = TreeSession.rootInode, page: Int = 3
  ) throws -> [MetaDirectory.Item] {
    let directory = try meta.openDirectory(try find(path, from: live).status.inode)
    var items: [MetaDirectory.Item] = []
    while true {
      let next = try directory.next(after: items.last?.next ?? 0, limit: page)
      if next.isEmpty { return items }
      items += next
    }
  }

  func names(_ path: String, from live: UInt64 = TreeSession.rootInode) throws -> [String] {
    try items(path, from: live).map { String(decoding: $0.name, as: UTF8.self) }
      .filter { $0 != "." && $0 != ".." }
  }

  func text(_ file: MetaFile) throws -> String { try Self.text(file) }

  static func text(_ file: MetaFile) throws -> String {
    var all: [UInt8] = []
    while true {
      var part = [UInt8](repeating: 0, count: 37)
      let count = try part.withUnsafeMutableBytes { try file.read(at: UInt64(all.count), into: $0) }
      if count == 0 { return String(decoding: all, as: UTF8.self) }
      all += part.prefix(count)
    }
  }

  func read(_ path: String, from live: UInt64 = TreeSession.rootInode) throws -> String {
    let file = try meta.open(try find(path, from: live).status.inode)
    defer { file.release() }
    return try text(file)
  }

  /// Creates or opens and truncates a file as a shell does, writes it, and closes it.
  func save(_ path: String, _ text: String) throws {
    let parts = path.split(separator: "/")
    let parent = try find(parts.dropLast().joined(separator: "/")).status.inode
    let name = Array((parts.last ?? "").utf8)
    let file: MetaFile
    if let known = try? meta.lookup(parent, name) {
      file = try meta.open(known.status.inode, writing: true, truncating: true)
    } else {
      file = try meta.create(parent, name, mode: 0o644).1
    }
    defer { file.release() }
    // The shell moves the descriptor to its place, and closes the first.
    try file.flush()
    try Array(text.utf8).withUnsafeBytes { try file.write(at: 0, $0) }
    try file.flush()
  }

  func rename(_ from: String, _ to: String, in directory: String) throws {
    let inode = try find(directory).status.inode
    try meta.rename(inode, Array(from.utf8), inode, Array(to.utf8), mode: .replacing)
  }

  func unlink(_ name: String, in directory: String) throws {
    try meta.unlink(try find(directory).status.inode, Array(name.utf8))
  }
}

/// The case of the error that a body throws, as text; "" where it throws none.
func fault(_ body: () throws -> Void) -> String {
  do {
    try body()
    return ""
  } catch {
    return "\(error)"
  }
}
