package import Events
package import Inodes
package import LLVSCore
import Platform
import TreeNames

// The names of the module PosixTree for this older tree, so that one mount and one set of commands are built
// on either.

package typealias WorkingTree = LiveTree
package typealias InodeStatus = NodeStatus
package typealias RenameMode = LiveTree.RenameMode
package typealias ExtendedMode = LiveTree.ExtendedMode
package typealias ShownStamp = LiveTree.ShownStamp
package typealias CutReason = LiveTree.CutReason
package typealias OpenMode = LiveHandle.Mode
package typealias HandleNumber = LiveHandle
package typealias CutOutcome = Versioner.Outcome

/// A file that was opened.
package struct OpenedFile {
  /// Its handle.
  package var handle: HandleNumber
  /// True if the open updated the access time.
  package var hasMovedAccessTime: Bool
  /// True if the kernel must drop the pages that it holds of the file.
  package var dropsPages: Bool
}

/// A directory that is open for listing.
package final class DirectoryListing: Sendable {
  let directory: InodeNumber
  private let tree: LiveTree
  let names = Monitor<NameListing?>(nil)

  init(_ directory: InodeNumber, of tree: LiveTree) {
    self.directory = directory
    self.tree = tree
    tree.openDirectory(directory.rawValue)
  }

  deinit { tree.closeDirectory(directory.rawValue) }
}

/// A name as a listing shows it.
package struct ListedName {
  /// The name.
  package var name: FileName
  /// Its place in the listing.
  package var cookie: EntryCookie
  /// The inode.
  package var number: InodeNumber
  /// The kind of file.
  package var kind: EntryKind
}

/// A name that the next version may change.
package struct PendingPath: Hashable, Sendable {
  /// The ways in which a name can change.
  package enum Change: UInt8, Hashable, Sendable {
    /// New, with all that it brings along from another name.
    case new = 0x2B
    /// Gone, with all that was below it.
    case gone = 0x2D
    /// Another file, or other bytes or attributes.
    case changed = 0x2A
  }

  /// The change.
  package var change: Change
  /// The path.
  package var path: TreePath
  /// True if a directory stands there.
  package var isDirectory: Bool
}

/// A notice that the kernel must get after names or attributes changed without its doing.
package enum KernelNotice: Hashable, Sendable {
  /// A name leads to something else, or to nothing.
  case name(InodeName)
  /// The attributes of an inode.
  case attributes(InodeNumber)
  /// The names in a directory.
  case listing(InodeNumber)

  init(_ old: Invalidation) {
    switch old {
    case .node(let number): self = .attributes(InodeNumber(number))
    case .entry(let parent, let name):
      self = .name(InodeName(directory: InodeNumber(parent), name: FileName(name)))
    }
  }

  var invalidation: Invalidation {
    switch self {
    case .attributes(let number), .listing(let number): .node(number.rawValue)
    case .name(let place): .entry(parent: place.directory.rawValue, name: place.name.bytes)
    }
  }
}

extension NodeStatus {
  /// The number by which the kernel names the inode.
  package var number: InodeNumber { InodeNumber(node) }

  /// Creates a status.
  package init(
    number: InodeNumber, kind: EntryKind, mode: UInt32, links: UInt32, uid: UInt32, gid: UInt32,
    device: Attributes.Device = Attributes.Device(major: 0, minor: 0), size: UInt64,
    stored: UInt64? = nil, mtime: Attributes.Time, ctime: Attributes.Time, atime: Attributes.Time
  ) {
    self.init(
      inode: number.rawValue, kind: kind, mode: mode, links: links, uid: uid, gid: gid,
      device: device, size: size, stored: stored, mtime: mtime, ctime: ctime, atime: atime)
  }
}

extension Versioner.Outcome {
  /// The paths of files that have their names and were left out because they are not saved.
  package var unsavedPaths: [[UInt8]] { unsaved }
  /// The paths of files that were left out because their bytes are not what was written.
  package var damagedPaths: [[UInt8]] { unreadable }
}

extension Versioner {
  /// Creates one that tells the kernel by notices.
  @_disfavoredOverload
  package convenience init(
    tree: LiveTree, log: EventLog, telling: @escaping @Sendable ([KernelNotice]) -> Void
  ) {
    self.init(tree: tree, log: log) { told in telling(told.map { KernelNotice($0) }) }
  }

  /// Tells the kernel of names that were made without its doing.
  package func tell(_ notices: [KernelNotice]) { tell(notices.map(\.invalidation)) }
}
