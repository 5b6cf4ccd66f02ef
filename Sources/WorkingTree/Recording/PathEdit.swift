import Inodes
import LLVSCore

/// A change of one path that a version is to take.
///
/// An object, since grouping changes where many of them go.
final class PathEdit {
  enum Kind {
    /// The version's file or directory at the path goes.
    case remove
    /// A name in a directory that moved here does not go along.
    case leaveOut
    /// A directory of the recorded tree is at the path now.
    case move
    /// A new directory.
    case make
    /// A file.
    case put
    /// Other attributes of a directory that stays.
    case setAttributes
  }

  /// The bytes of a file.
  enum Bytes {
    /// A save.
    case save(PendingFile.Save)
    /// The bytes of the recorded tree, under another name or with other attributes.
    case recorded
    /// The bytes of a file that the recorded tree does not have any more.
    case kept(FileContent)
  }

  var kind: Kind
  var path: TreePath
  /// The epoch of the version that the change was made on; nil for what the tree showed.
  let epoch: Epoch?
  /// The name in the working tree; nil for bytes of an orphan.
  let place: InodeName?
  let number: InodeNumber?
  let node: PendingNode?
  /// The recorded tree's inode at the name.
  var over: InodeNumber?
  var isOverDirectory = false
  /// The recorded path of a directory that moved.
  var source = TreePath.root
  var bytes: Bytes?
  /// Files of one path are told apart by it, orphans and those of directories that moved; 0 for what the tree shows.
  var turn = 0
  /// True for a file that goes where its directory was before it moved.
  var isWhereItStood = false
  /// The version that the change is made on.
  var predecessor: VersionNumber?

  init(
    _ kind: Kind, _ path: TreePath, _ epoch: Epoch?, place: InodeName?,
    number: InodeNumber? = nil, node: PendingNode? = nil
  ) {
    self.kind = kind
    self.path = path
    self.epoch = epoch
    self.place = place
    self.number = number
    self.node = node
  }

  /// The save that is taken; nil if it is none.
  var save: PendingFile.Save? {
    if case .save(let save)? = bytes { return save }
    return nil
  }

  /// True for a name that leads to something.
  var isThere: Bool { kind != .remove && kind != .leaveOut }
}
