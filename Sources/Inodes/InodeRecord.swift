package import LLVSCore

/// All that is recorded of an inode: its kind, attributes and bytes, and the times that only this
/// store knows.
package struct InodeRecord: Hashable, Sendable {
  /// The kind of file.
  package var kind: EntryKind
  /// The attributes as recorded: what was never recorded stays absent. Long extended attributes may
  /// be left out, see ``lacksExtended``.
  package var attributes: Attributes
  /// True if the long extended attributes are in the map alone.
  package var lacksExtended: Bool
  /// The bytes; none for a directory.
  package var stored: StoredContent
  /// The version that stored the bytes; nil for a directory without an entry of its own.
  package var origin: VersionNumber?
  /// st_ctime.
  package var changed: Attributes.Time
  /// The time that is shown in place of the recorded mtime; nil for the recorded one. Directories
  /// have one when names in them came or went.
  package var shownTime: Attributes.Time?

  package init(
    kind: EntryKind, attributes: Attributes = Attributes(), lacksExtended: Bool = false,
    stored: StoredContent = .none, origin: VersionNumber? = nil, changed: Attributes.Time,
    shownTime: Attributes.Time? = nil
  ) {
    self.kind = kind
    self.attributes = attributes
    self.lacksExtended = lacksExtended
    self.stored = stored
    self.origin = origin
    self.changed = changed
    self.shownTime = shownTime
  }

  /// True for a directory.
  package var isDirectory: Bool { kind == .directory }

  /// True for a directory that only what is below it makes.
  package var isImplied: Bool { origin == nil }
}

extension StoredContent {
  /// The content of what has no bytes.
  package static var none: StoredContent {
    StoredContent(length: 0, digest: .ofNothing, content: .none)
  }
}
