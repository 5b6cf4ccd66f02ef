import Inodes
import LLVSCore

extension InodeRecord {
  /// Creates the record of an entry of a map; of a directory without one where there is none.
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

  /// True if both say the same of what a map has; times that only this store knows may differ.
  func isRecordedAs(_ other: InodeRecord) -> Bool {
    hasSameFields(as: other) && stored == other.stored && origin == other.origin
  }

  /// True if both are of the same content; the places of the bytes and the versions that stored
  /// them may differ, as they do for names of one file that were stored one after the other.
  func hasSameContent(as other: InodeRecord) -> Bool {
    hasSameFields(as: other) && stored.length == other.stored.length
      && stored.digest == other.stored.digest
  }

  /// Keeps the times of a record that programs cannot tell from this one: only the version that stored it differs.
  mutating func keepTimes(of old: InodeRecord) {
    guard !lacksExtended, hasSameContent(as: old) else { return }
    // A value without a time shows that of its version.
    if attributes.mtime != nil || kind == .directory { shownTime = old.shownTime }
    if shownTime == old.shownTime { changed = old.changed }
  }

  private func hasSameFields(as other: InodeRecord) -> Bool {
    kind == other.kind && lacksExtended == other.lacksExtended && attributes == other.attributes
      && (origin == nil) == (other.origin == nil)
  }
}

extension Entry {
  /// The key as an entry of a directory has it: nil if it is the encoding of the path.
  func key(besides path: TreePath) -> Key? { key == KeyCoding.key(ofPath: path.bytes) ? nil : key }
}
