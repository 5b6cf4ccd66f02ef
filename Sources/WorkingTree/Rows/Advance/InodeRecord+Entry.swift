import Inodes
import LLVSCore

extension InodeRecord {
  /// Creates the record of an entry of a map, or of a directory without an entry.
  init(_ entry: Entry?, changed: Attributes.Time) {
    guard let entry else {
      self.init(kind: .directory, changed: changed)
      return
    }
    let short = entry.shortened
    self.init(
      kind: short.kind, attributes: short.attributes, lacksExtended: short.isShortened,
      stored: short.isDirectory ? .none : short.stored, origin: short.storedVersion,
      changed: changed)
  }

  /// True if both have the same in a map; local times may differ.
  func isRecordedAs(_ other: InodeRecord) -> Bool {
    hasSameFields(as: other) && stored == other.stored && origin == other.origin
  }

  /// True if both have the same content; its place and version may differ, as for names of one file stored one by
  /// one.
  func hasSameContent(as other: InodeRecord) -> Bool {
    hasSameFields(as: other) && stored.length == other.stored.length
      && stored.digest == other.stored.digest
  }

  /// Keeps the times of a record that programs cannot tell from this one: only the storing version differs.
  mutating func keepTimes(of old: InodeRecord) {
    guard hasSameContent(as: old) else { return }
    // A value without a time shows that of its version.
    if attributes.mtime != nil { shownTime = old.shownTime }
    if shownTime == old.shownTime { changed = old.changed }
  }

  private func hasSameFields(as other: InodeRecord) -> Bool {
    kind == other.kind && lacksExtended == other.lacksExtended && attributes == other.attributes
      && (origin == nil) == (other.origin == nil)
  }
}

extension Entry {
  /// The key in an entry of a directory: nil if it encodes the path.
  func key(besides path: TreePath) -> Key? { key == KeyCoding.key(ofPath: path.bytes) ? nil : key }
}
