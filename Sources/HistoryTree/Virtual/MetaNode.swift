import LLVSCore
package import WorkingTree

/// The node that a name below `.llvs` leads to.
package struct MetaEntry: Sendable {
  /// The node's attributes.
  package var status: InodeStatus
  /// Neither the name nor the node ever changes: the kernel may cache both for ever.
  package var isLasting: Bool
  /// True for a control file, which executes commands.
  package var isControl: Bool

  init(status: InodeStatus, isLasting: Bool, isControl: Bool = false) {
    self.status = status
    self.isLasting = isLasting
    self.isControl = isControl
  }
}

/// The content of a node below `.llvs`.
enum MetaContent: Hashable, Sendable {
  /// `.llvs` of a directory of the working tree, given by its inode number.
  case meta(root: UInt64)
  case heads
  case branches
  case tags
  case versions
  case times
  case peers
  /// A directory of `history`, by the path from the mount's root. The path may be that of a value,
  /// of a directory or of both, in the same or in different versions.
  case history(path: [UInt8])
  /// A directory of `conflicts`, by the path from the mount's root.
  case conflicts(path: [UInt8])
  /// The directory in which every look-up searches, by the path of the directory it searches.
  case search(directory: [UInt8])
  /// The values found below a directory.
  case found(words: [UInt8], directory: [UInt8])
  case link(target: [UInt8])
  case readme
  case control
  case status
  case statusJSON
  case log
  /// A directory of a version, by its path in it; `base` bytes of the path lead to the directory
  /// whose `.llvs` shows it.
  case directory(VersionNumber, path: [UInt8], base: Int)
  /// A value of a version.
  case value(VersionNumber, key: Key)
  /// `.llvs` of a version's directory.
  case snapshotMeta(VersionNumber, path: [UInt8], base: Int)
  case info(VersionNumber, path: [UInt8])
  case changes(VersionNumber, path: [UInt8])
  case parents(VersionNumber, path: [UInt8], base: Int)
  /// A file of a writable directory: a peer's, the ignore patterns, or scratch.
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

  /// The length of the path in the content, in bytes.
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

  /// True if the content is part of history, where every change fails with EROFS.
  var isHistory: Bool {
    switch self {
    case .directory, .value, .snapshotMeta, .info, .changes, .parents, .history, .versions: true
    default: false
    }
  }
}

/// A node that the kernel knows, or that lies above one.
final class MetaNode: @unchecked Sendable {
  // Unchecked: the lock of ``MetaNodes`` guards the variables; the rest is constant.

  let inode: UInt64
  let content: MetaContent
  /// The parent directory; nil for `.llvs` of the working tree, and for values, which are in many
  /// directories.
  let parent: MetaNode?
  let name: [UInt8]
  /// Look-ups minus FORGETs.
  var lookups: UInt64 = 0
  /// The number of nodes whose ``parent`` this is.
  var pins = 0
  /// The time of the last look-up in it, and below the number of look-ups since it was made.
  var used: UInt32 = 0
  var given: UInt32 = 0

  init(inode: UInt64, content: MetaContent, parent: MetaNode?, name: [UInt8]) {
    self.inode = inode
    self.content = content
    self.parent = parent
    self.name = name
  }

  /// The directory of the working tree in whose `.llvs` the node is.
  var root: UInt64 {
    var node = self
    while true {
      if case .meta(let root) = node.content { return root }
      guard let parent = node.parent else { return TreeSession.rootInode }
      node = parent
    }
  }
}
