package import LLVSCore

/// The record of an inode: kind, attributes and bytes, and the times that only this store knows.
package struct InodeRecord: Hashable, Sendable {
  package var kind: EntryKind
  /// Absent where nothing was recorded, or if ``lacksExtended``.
  package var attributes: Attributes
  /// True if only the map has the long extended attributes.
  package var lacksExtended: Bool
  /// None for a directory.
  package var stored: StoredContent
  /// The version that stored the bytes; nil for an implicit directory.
  package var origin: VersionNumber?
  /// st_ctime.
  package var changed: Attributes.Time
  /// Shown in place of the recorded mtime, as for directories whose names changed.
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

  package var isDirectory: Bool { kind == .directory }
}

extension StoredContent {
  package static var none: StoredContent {
    StoredContent(length: 0, digest: .ofNothing, content: .none)
  }
}
