package import Inodes
package import LLVSCore
import Platform
import TreeNames

/// A notice that the kernel must get after names or attributes changed without its doing.
package enum KernelNotice: Hashable, Sendable {
  /// A name leads to something else, or to nothing.
  case name(InodeName)
  /// The attributes of an inode; other bytes are another inode.
  case attributes(InodeNumber)
  /// The names in a directory, as readdir(3) gives them.
  case listing(InodeNumber)
}

/// A name of the tree whose file came, changed or went because the tree went to another head.
package struct ShownChange: Hashable, Sendable {
  /// The path.
  package var path: TreePath
  /// The directory that the name is in.
  package var directory: InodeNumber
  /// The kind of file before; nil if the name was not there.
  package var before: EntryKind?
  /// The kind of file now; nil if the name is not there any more.
  package var after: EntryKind?
  /// True if the bytes are others, not the attributes alone.
  package var hasOtherBytes: Bool

  /// The most that is notified of one head.
  package static let most = 1 << 16
}

/// The changes that another head made in the tree that programs see.
package struct HeadChanges: Sendable {
  /// The notices to the kernel; each once, names first.
  package var notices: [KernelNotice] = []
  /// The names that changed, at most ``ShownChange/most``.
  package var shown: [ShownChange] = []

  package init() {}

  init(emptiedBetween before: Overlay, _ after: Overlay) {
    for (place, old, new) in after.changes.differences(from: before.changes) {
      guard let old, old.isHeld, new == nil else { continue }
      notices += [.name(place), .attributes(place.directory), .listing(place.directory)]
      guard let path = before.path(of: place.directory)?.appending(place.name) else { continue }
      shown.append(
        ShownChange(
          path: path, directory: place.directory, before: .directory, after: nil,
          hasOtherBytes: false))
    }
  }
}
