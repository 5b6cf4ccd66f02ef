import HistoryTree
import LLVSCore

@testable import TreeSupport

/// A naive file system in memory, with what a cut may take of it.
final class ModelNode {
  enum Kind { case file, directory, symlink }

  let kind: Kind
  var bytes: [UInt8] = []
  var mode: UInt32
  var attributes: [String: [UInt8]] = [:]
  var children: [String: ModelNode] = [:]
  /// What the last version holds in this directory.
  var held: [String: Snapshot] = [:]
  /// What a version may take; nil for a file that was never saved.
  var saved: [UInt8]?
  var unsaved = false
  var steady = true
  var inode: UInt64 = 0

  init(_ kind: Kind, mode: UInt32) {
    self.kind = kind
    self.mode = mode
  }

  /// A node as a version holds it.
  struct Snapshot: Equatable {
    var kind: Kind
    var bytes: [UInt8]
    var mode: UInt32
    var attributes: [String: [UInt8]]
    var children: [String: Snapshot] = [:]
  }

  func write(_ new: [UInt8], at offset: Int, steady isSteady: Bool) {
    begin(isSteady)
    if bytes.count < offset + new.count {
      bytes += [UInt8](repeating: 0, count: offset + new.count - bytes.count)
    }
    bytes.replaceSubrange(offset..<(offset + new.count), with: new)
  }

  func resize(_ size: Int) {
    if size < bytes.count {
      bytes.removeLast(bytes.count - size)
    } else {
      bytes += [UInt8](repeating: 0, count: size - bytes.count)
    }
  }

  func begin(_ isSteady: Bool) {
    let isFirst = saved == nil && bytes.isEmpty
    steady = unsaved ? (steady || isFirst) && isSteady : isSteady
    unsaved = true
  }

  func save() {
    guard unsaved else { return }
    saved = bytes
    unsaved = false
    steady = true
  }

  /// Takes a cut: what the version holds of this directory.
  func cut(pausedCount: Bool) -> [String: Snapshot] {
    var version: [String: Snapshot] = [:]
    for (name, node) in children where !name.hasSuffix("~") {
      if pausedCount, node.kind == .file, node.unsaved, node.steady { node.save() }
      switch node.kind {
      case .directory:
        version[name] = Snapshot(
          kind: .directory, bytes: [], mode: node.mode, attributes: node.attributes,
          children: node.cut(pausedCount: pausedCount))
      case .file, .symlink:
        if let saved = node.saved {
          version[name] = Snapshot(
            kind: node.kind, bytes: saved, mode: node.mode, attributes: node.attributes)
        } else {
          // A file that was never saved leaves the version the file that the name held before; a directory is
          // where it went, or gone.
          if let before = held[name], before.kind != .directory { version[name] = before }
        }
      }
    }
    held = version
    return version
  }

  /// Every file below, the directories themselves too.
  func walk(_ path: String = "", _ body: (String, ModelNode) -> Void) {
    for (name, node) in children.sorted(by: { $0.key < $1.key }) {
      let below = path.isEmpty ? name : path + "/" + name
      body(below, node)
      node.walk(below, body)
    }
  }
}
