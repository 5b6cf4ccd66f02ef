import Inodes
import LLVSCore

/// A change of one path for a version. A class, because grouping changes many of them.
final class PathEdit {
  enum Kind {
    /// Removes the version's file or directory at the path.
    case remove
    /// Keeps a name out of a moved directory.
    case leaveOut
    /// Moves a recorded directory to the path.
    case move
    case make
    case put
    /// Sets attributes of a directory that stays.
    case setAttributes
  }

  enum Bytes {
    case save(PendingFile.Save)
    /// The recorded bytes, under another name or with other attributes.
    case recorded
    /// Bytes of a file that the recorded tree no longer has.
    case kept(FileContent)
  }

  var kind: Kind
  var path: TreePath
  /// The epoch that the change was made on; nil for what the tree showed.
  let epoch: Epoch?
  let place: InodeName?
  let number: InodeNumber?
  let node: PendingNode?
  /// The recorded inode at the name.
  var over: InodeNumber?
  var isOverDirectory = false
  /// The recorded path of a moved directory.
  var source = TreePath.root
  var bytes: Bytes?
  /// Distinguishes files of one path: orphans, and files of moved directories; 0 for what the tree shows.
  var turn = 0
  /// True for a file that goes to the old place of its directory.
  var isWhereItStood = false
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

  var save: PendingFile.Save? {
    if case .save(let save)? = bytes { return save }
    return nil
  }

  var isThere: Bool { kind != .remove && kind != .leaveOut }
}
