package import Inodes
package import LLVSCore

/// An inode with pending changes, or that a change leads to or is below.
package struct PendingNode: Equatable, Sendable {
  package let kind: EntryKind
  package var attributes: Attributes
  /// True if attributes changed here, the link id included, and no version has them.
  package var hasNewAttributes = false
  /// True if the shown mtime is one that utimensat(2) gave since the node became known.
  package var hasSetTime = false
  /// True if ``attributes`` lack the long extended ones, which the recorded tree's map has.
  package var lacksExtended = false
  /// st_ctime.
  package var changed: Attributes.Time
  /// nil for a directory.
  package var file: PendingFile?
  /// The names under which programs see it; a directory has one or none, the root has none.
  package var names: [InodeName] { didSet { positions = NamePositions() } }
  /// The indices of ``names``, for a file that has many.
  var positions = NamePositions()
  package var recordedNames: [InodeName]
  /// The epoch that its pending bytes and attributes are made on; nil for what the tree shows, or without any.
  package var on: Epoch?
  package var orphan: Orphan?
  package var stamp: ChangeStamp

  package init(
    kind: EntryKind, attributes: Attributes, changed: Attributes.Time, file: PendingFile? = nil,
    names: [InodeName], recordedNames: [InodeName] = [], stamp: ChangeStamp
  ) {
    self.kind = kind
    self.attributes = attributes
    self.changed = changed
    self.file = file
    self.names = names
    self.recordedNames = recordedNames
    self.stamp = stamp
  }

  package var isDirectory: Bool { kind == .directory }
  /// True if bytes or attributes differ from those of every version.
  package var isPending: Bool { hasNewAttributes || file?.isPending ?? false }
  package var isUnsaved: Bool { file?.isUnsaved ?? false }
  package var shownTime: Attributes.Time { attributes.mtime ?? changed }
  package var place: InodeName? { names.first }
}

/// The indices of a list of names, once they were needed; the list defines them, so any two are equal.
package struct NamePositions: Equatable, Sendable {
  var indices: [InodeName: Int]?
  package static func == (a: NamePositions, b: NamePositions) -> Bool { true }
}

/// The reason that an open inode has no name.
package enum Orphan: Hashable, Sendable {
  /// Its last name was removed or given away here: no version takes it.
  case gone
  /// A new head took its name. Its saved bytes belong where the name was and are made on `epoch`. The place follows
  /// a directory that moves; without a place, the path says where.
  case detached(place: InodeName?, path: TreePath?, epoch: Epoch)
}
