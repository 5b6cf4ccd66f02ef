package import Inodes
package import LLVSCore

/// An inode of which something is pending, or that a change leads to or is below.
package struct PendingNode: Hashable, Sendable {
  /// The kind of file.
  package let kind: EntryKind
  /// The attributes that are shown.
  package var attributes: Attributes
  /// True if somebody here changed attributes, the link id included, and no version has them.
  package var hasNewAttributes = false
  /// True if the shown mtime is one that utimensat(2) gave since the node became known.
  package var hasSetTime = false
  /// True if ``attributes`` lack the long extended attributes, which the recorded tree's map has.
  package var lacksExtended = false
  /// st_ctime.
  package var changed: Attributes.Time
  /// The bytes; nil for a directory.
  package var file: PendingFile?
  /// Exactly the names under which programs see it; a directory has one or none, the root has none.
  package var names: [InodeName] { didSet { positions = NamePositions() } }
  /// The indices of the names in ``names``, for a file that has many.
  var positions = NamePositions()
  /// Its names in the recorded tree.
  package var recordedNames: [InodeName]
  /// The epoch of the version that its pending bytes and attributes are made on; nil for what the tree shows, and
  /// while nothing of it is pending.
  package var on: Epoch?
  /// Why it has no name; nil while it has one.
  package var orphan: Orphan?
  /// When it was changed last.
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

  /// True for a directory.
  package var isDirectory: Bool { kind == .directory }

  /// True if bytes or attributes are pending: a version has others.
  package var isPending: Bool { hasNewAttributes || file?.isPending ?? false }

  /// True if no save covers all bytes.
  package var isUnsaved: Bool { file?.isUnsaved ?? false }

  /// The mtime that programs see.
  package var shownTime: Attributes.Time { attributes.mtime ?? changed }

  /// The place of a directory.
  package var place: InodeName? { names.first }
}

/// The places of names in a list, once somebody asked for one: they follow from the list, so any two are equal.
package struct NamePositions: Hashable, Sendable {
  var indices: [InodeName: Int]?

  package static func == (a: NamePositions, b: NamePositions) -> Bool { true }

  package func hash(into hasher: inout Hasher) {}
}

/// The reason that an inode has no name while somebody still holds it open.
package enum Orphan: Hashable, Sendable {
  /// Its last name was removed or given away here: no version takes it.
  case gone
  /// A new head took its name away. What is saved in it belongs where the name was, and is made on `epoch`.
  /// The place follows the directory when that moves; without one, the path says where.
  case detached(place: InodeName?, path: TreePath?, epoch: Epoch)
}
