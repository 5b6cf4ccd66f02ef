import HistoryTree
import LLVSCore
import TreeNames
import WorkingTree

@testable import TreeSupport

// What the tree and its versions show, beside the naive file system.

extension ModelLife {
  func check(
    _ expected: [String: ModelNode.Snapshot], _ found: [String: ModelNode.Snapshot],
    _ what: String, _ path: String
  ) throws {
    for name in Set(expected.keys).union(found.keys) {
      let below = join(path, name)
      guard let a = expected[name] else {
        throw Difference(text: "\(what) has \(below) too many")
      }
      guard let b = found[name] else { throw Difference(text: "\(what) lacks \(below)") }
      guard a.kind == b.kind, a.bytes == b.bytes, a.attributes == b.attributes, a.mode == b.mode
      else {
        throw Difference(
          text: "\(what) \(below): \(a.kind) \(a.bytes.count) \(a.mode) \(a.attributes.keys)"
            + " and \(b.kind) \(b.bytes.count) \(b.mode) \(b.attributes.keys)")
      }
      try check(a.children, b.children, what, below)
    }
  }

  func snapshot(_ record: VersionRecord?) throws -> [String: ModelNode.Snapshot] {
    guard let record else { return [:] }
    let view = TreeView(map: mounted.store.map(record.map))
    func children(_ path: [UInt8]) throws -> [String: ModelNode.Snapshot] {
      var found: [String: ModelNode.Snapshot] = [:]
      var listing = view.list(path)
      while let item = try listing.next() {
        let below = path.isEmpty ? item.name : path + [0x2F] + item.name
        let isDirectory = item.kind == .directory
        var attributes: [String: [UInt8]] = [:]
        for one in item.entry?.attributes.extended ?? [] {
          attributes[String(decoding: one.name, as: UTF8.self)] = one.value
        }
        let standard: UInt32 = isDirectory ? 0o755 : item.kind == .symlink ? 0o777 : 0o644
        found[String(decoding: item.name, as: UTF8.self)] = ModelNode.Snapshot(
          kind: isDirectory ? .directory : item.kind == .symlink ? .symlink : .file,
          bytes: try item.entry.map {
            isDirectory ? [] : try mounted.store.bytes($0.stored)
          } ?? [],
          mode: item.entry?.attributes.mode ?? standard, attributes: attributes,
          children: isDirectory ? try children(below) : [:])
      }
      return found
    }
    return try children([])
  }

  func compare() throws {
    var links: [ObjectIdentifier: UInt32] = [:]
    root.walk { _, node in links[ObjectIdentifier(node), default: 0] += 1 }
    func compare(_ node: ModelNode, _ inode: UInt64, _ path: String) throws {
      let listing = try mounted.tree.list(inode)
      let names = Set(listing.items.dropFirst(2).map { String(decoding: $0.name, as: UTF8.self) })
      guard names == Set(node.children.keys), listing.items.count == names.count + 2 else {
        throw Difference(text: "names in /\(path): \(node.children.keys) and \(names)")
      }
      for item in listing.items.dropFirst(2) {
        let name = String(decoding: item.name, as: UTF8.self)
        guard let child = node.children[name] else { continue }
        let below = join(path, name)
        let status = try mounted.tree.lookup(inode, item.name)
        defer { if chance(50) { mounted.forget(status.node) } }
        guard status.inode == item.inode else {
          throw Difference(text: "\(below): listed as \(item.inode), found as \(status.inode)")
        }
        if child.inode == 0 { child.inode = status.inode }
        guard child.inode == status.inode else {
          throw Difference(text: "\(below): was inode \(child.inode), is \(status.inode)")
        }
        let count =
          child.kind == .directory
          ? 2 + UInt32(child.children.values.count { $0.kind == .directory })
          : links[ObjectIdentifier(child)]
        guard status.links == count else {
          throw Difference(text: "\(below): \(status.links) links")
        }
        guard status.mode == child.mode else {
          throw Difference(text: "\(below): mode \(child.mode) and \(status.mode)")
        }
        for (attribute, value) in child.attributes {
          let found = try mounted.tree.getxattr(status.node, Array(attribute.utf8))
          guard found == value else { throw Difference(text: "\(below): \(attribute)") }
        }
        switch child.kind {
        case .directory: try compare(child, status.node, below)
        case .symlink:
          guard try mounted.tree.readlink(status.node) == child.bytes else {
            throw Difference(text: "\(below): target")
          }
        case .file:
          let found = try mounted.bytes(ofInode: status.node)
          guard status.size == UInt64(child.bytes.count), found == child.bytes else {
            throw Difference(
              text: "\(below): \(child.bytes.count) bytes and \(status.size), \(found.count)")
          }
        }
      }
    }
    try compare(root, TreeSession.rootInode, "")
    for open in opened {
      guard try mounted.bytes(ofInode: open.handle.inode) == open.node.bytes else {
        throw Difference(text: "the bytes of open \(open.handle.inode)")
      }
    }
  }

  /// All names of a file have one time in the head, and it shows that or a later one: of bytes that were
  /// written again as they were.
  ///
  /// To be called where nothing is pending.
  func compareTimes() throws {
    var times: [ObjectIdentifier: Attributes.Time?] = [:]
    for (path, node) in all(.file) where !path.contains("~") && node.saved == node.bytes {
      guard let entry = try mounted.entry(path) else { continue }
      let (recorded, shown) = (entry.attributes.mtime, try mounted.status(path).mtime)
      if let other = times[ObjectIdentifier(node)], other != recorded {
        throw Difference(text: "the names of \(path) have different times")
      }
      times[ObjectIdentifier(node)] = recorded
      if let recorded, shown < recorded {
        throw Difference(text: "\(path) shows \(shown), its version has \(recorded)")
      }
    }
  }
}
