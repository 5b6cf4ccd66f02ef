/// What a merge holds at a key, as far as bytes, kind and device go.
enum MergeOutcome {
  case first
  case second
  case removed
  case content(StoredContent, kind: EntryKind)
}

/// What a key holds in the base and on both sides.
struct MergeTriple {
  var base: Entry?
  var first: Entry?
  var second: Entry?

  /// What follows without an arbiter: the side that changed; nil if both did, differently.
  var plainOutcome: MergeOutcome? {
    switch (first, second) {
    case (nil, nil): return .removed
    case (let first?, let second?):
      if first.hasSameUnit(as: second) { return .first }
      guard let base else { return nil }
      if second.hasSameUnit(as: base) { return .first }
      return first.hasSameUnit(as: base) ? .second : nil
    case (let first?, nil):
      guard let base else { return .first }
      // A change of attributes alone loses to a removal.
      return first.hasSameUnit(as: base) ? .removed : nil
    case (nil, let second?):
      guard let base else { return .second }
      return second.hasSameUnit(as: base) ? .removed : nil
    }
  }
}

/// A change that a merge made elsewhere says it makes, to be followed instead of an arbiter.
package enum RecordedMergeChange: Hashable, Sendable {
  /// The entry that the key refers to: the second predecessor's, or bytes that the merge stored.
  case value(StoredContent, kind: EntryKind?, storedBy: VersionNumber)
  case removal
}
