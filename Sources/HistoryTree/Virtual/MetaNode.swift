import LLVSCore
package import WorkingTree

/// The node of a name below `.llvs`.
package struct MetaEntry: Sendable {
  package var status: InodeStatus
  /// True if name and node never change, so that the kernel may cache both.
  package var isLasting: Bool
  package var isControl = false
}

/// The content of a node below `.llvs`.
enum MetaContent: Hashable, Sendable {
  /// `.llvs` of a directory of the working tree.
  case meta(root: UInt64)
  case heads
  case branches
  case tags
  case versions
  case times
  case peers
  /// A directory of `history`; its path may be that of a value, a directory or both.
  case history(path: [UInt8])
  /// A directory of `conflicts`.
  case conflicts(path: [UInt8])
  /// The directory in which every look-up searches.
  case search(directory: [UInt8])
  case found(words: [UInt8], directory: [UInt8])
  case link(target: [UInt8])
  case readme
  case control
  case status
  case statusJSON
  case log
  /// A directory of a version; `base` bytes of the path are those of the directory whose `.llvs` shows it.
  case directory(VersionNumber, path: [UInt8], base: Int)
  case value(VersionNumber, key: Key)
  case snapshotMeta(VersionNumber, path: [UInt8], base: Int)
  case info(VersionNumber, path: [UInt8])
  case changes(VersionNumber, path: [UInt8])
  case parents(VersionNumber, path: [UInt8], base: Int)
  case writable(WritableFile)

  var kind: EntryKind {
    switch self {
    case .meta, .heads, .branches, .tags, .versions, .times, .peers, .history, .conflicts,
      .directory,
      .snapshotMeta, .parents, .search, .found:
      .directory
    case .link: .symlink
    default: .regular
    }
  }

  /// The numbering of a node that no revision or version numbers.
  var numbering: MetaNodes.Numbering {
    switch self {
    case .control: .fresh
    case .writable(let file): .given(file.inode)
    default: kind == .directory ? .directory : .other
    }
  }

  var pathLength: Int {
    switch self {
    case .history(let path), .conflicts(let path), .directory(_, let path, _),
      .snapshotMeta(_, let path, _), .info(_, let path), .changes(_, let path),
      .parents(_, let path, _):
      path.count
    case .value(_, let key): key.bytes.count
    case .search(let directory): directory.count
    case .found(let words, let directory): words.count + directory.count
    default: 0
    }
  }

  /// True for history, where every change fails with EROFS.
  var isHistory: Bool {
    switch self {
    case .directory, .value, .snapshotMeta, .info, .changes, .parents, .history, .versions: true
    default: false
    }
  }
}

/// A node that the kernel knows, or one above it.
final class MetaNode: @unchecked Sendable {
  // Unchecked: the lock of ``MetaNodes`` guards the variables; the rest is constant.

  let inode: UInt64
  let content: MetaContent
  /// Nil for `.llvs` of the working tree, and for values, which are in many directories.
  let parent: MetaNode?
  let name: [UInt8]
  /// Look-ups minus FORGETs.
  var lookups: UInt64 = 0
  /// The number of nodes of this parent.
  var pins = 0
  /// The time of the last look-up in it, and the number of look-ups.
  var used: UInt32 = 0
  var given: UInt32 = 0

  init(inode: UInt64, content: MetaContent, parent: MetaNode?, name: [UInt8]) {
    self.inode = inode
    self.content = content
    self.parent = parent
    self.name = name
  }

  /// The directory of the working tree whose `.llvs` contains the node.
  var root: UInt64 {
    var node = self
    while true {
      if case .meta(let root) = node.content { return root }
      guard let parent = node.parent else { return TreeSession.rootInode }
      node = parent
    }
  }
}
