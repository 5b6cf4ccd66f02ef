import LLVSCore
package import WorkingTree

/// What a name below `.llvs` leads to.
package struct MetaEntry: Sendable {
  package var status: NodeStatus
  /// Neither the name nor what it leads to ever changes: the kernel may keep both for good.
  package var isLasting: Bool
  /// A control file: opened by who executes commands.
  package var isControl: Bool

  init(status: NodeStatus, isLasting: Bool, isControl: Bool = false) {
    self.status = status
    self.isLasting = isLasting
    self.isControl = isControl
  }
}

/// What a node below `.llvs` is.
enum MetaContent: Hashable, Sendable {
  /// `.llvs` of a live directory, named by its inode.
  case hidden(root: UInt64)
  case heads
  case branches
  case tags
  case versions
  case times
  case peers
  /// A directory of `history`, by the path from the mount's root; `path` may be a value's, a
  /// directory's or both, in the same or in different versions.
  case history(path: [UInt8])
  /// A directory of `conflicts`, by the path from the mount's root.
  case conflicts(path: [UInt8])
  case link(target: [UInt8])
  case readme
  case control
  case status
  case statusJSON
  case log
  /// A directory of a version, by its path in it; `base` bytes of it are the view's own.
  case directory(VersionNumber, path: [UInt8], base: Int)
  /// A value of a version.
  case value(VersionNumber, key: Key)
  /// `.llvs` of a version's directory.
  case snapshotHidden(VersionNumber, path: [UInt8], base: Int)
  case info(VersionNumber, path: [UInt8])
  case changes(VersionNumber, path: [UInt8])
  case parents(VersionNumber, path: [UInt8], base: Int)
  /// A file of a writable place: a peer's, the ignore patterns, or scratch.
  case writable(WritableFile)

  var kind: EntryKind {
    switch self {
    case .hidden, .heads, .branches, .tags, .versions, .times, .peers, .history, .conflicts,
      .directory,
      .snapshotHidden, .parents:
      .directory
    case .link: .symlink
    default: .regular
    }
  }

  /// The bytes of the path that it holds.
  var pathLength: Int {
    switch self {
    case .history(let path), .conflicts(let path), .directory(_, let path, _),
      .snapshotHidden(_, let path, _), .info(_, let path), .changes(_, let path),
      .parents(_, let path, _):
      path.count
    case .value(_, let key): key.bytes.count
    default: 0
    }
  }

  /// Whether it is part of history, where every change is refused with EROFS.
  var isHistory: Bool {
    switch self {
    case .directory, .value, .snapshotHidden, .info, .changes, .parents, .history, .versions: true
    default: false
    }
  }
}

/// A node that the kernel knows, or that one it knows lies below of.
final class MetaNode: @unchecked Sendable {
  // Unchecked: what is variable is guarded by the lock of ``MetaNodes``; the rest is constant.

  let inode: UInt64
  let content: MetaContent
  /// The directory above; nil for `.llvs` of a live directory, and for values, which stand in many.
  let parent: MetaNode?
  let name: [UInt8]
  /// Look-ups minus forgets.
  var lookups: UInt64 = 0
  /// Nodes whose ``parent`` this is.
  var pins = 0
  /// When a name was last looked for in it, and how many were found since it came to be.
  var used: UInt32 = 0
  var given: UInt32 = 0

  init(inode: UInt64, content: MetaContent, parent: MetaNode?, name: [UInt8]) {
    self.inode = inode
    self.content = content
    self.parent = parent
    self.name = name
  }

  /// The live directory whose `.llvs` this lies in.
  var root: UInt64 {
    var node = self
    while true {
      if case .hidden(let root) = node.content { return root }
      guard let parent = node.parent else { return LiveTree.rootInode }
      node = parent
    }
  }
}
