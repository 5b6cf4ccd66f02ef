package import Inodes
package import LLVSCore

/// A change of names or attributes that the kernel did not make and must be notified of.
package enum KernelNotice: Hashable, Sendable {
  /// A name resolves to something else or to nothing.
  case name(InodeName)
  /// The attributes of an inode; other bytes have another number.
  case attributes(InodeNumber)
  /// The listing of a directory, as readdir(3) returns it.
  case listing(InodeNumber)
}

/// A file that was added, changed or removed because the head moved.
package struct ShownChange: Hashable, Sendable {
  package var path: TreePath
  package var directory: InodeNumber
  /// The kind before; nil if the name did not exist.
  package var before: EntryKind?
  /// The kind now; nil if the name no longer exists.
  package var after: EntryKind?
  /// True if not only attributes changed.
  package var hasOtherBytes: Bool
  /// The most changes reported for one head.
  package static let most = 1 << 16
}

/// The changes that another head made for programs.
package struct HeadChanges: Sendable {
  /// Each notice once, names first.
  package var notices: [KernelNotice] = []
  /// At most ``ShownChange/most``.
  package var shown: [ShownChange] = []
  package init() {}

  init(emptiedBetween before: Overlay, _ after: Overlay) {
    after.changes.forEachDifference(from: before.changes) { place, old, new in
      guard let old, new == nil, old.isHeld || place.isAside else { return }
      notices += [.name(place.own), .attributes(place.directory), .listing(place.directory)]
      guard old.isHeld, let path = before.path(of: place.directory)?.appending(place.name) else {
        return
      }
      shown.append(
        ShownChange(
          path: path, directory: place.directory, before: .directory, after: nil,
          hasOtherBytes: false))
    }
  }
}
