/// The bytes, kind and device of a merge's entry at a key.
enum MergeOutcome {
  case first
  case second
  case removed
  case content(StoredContent, kind: EntryKind)
}

/// The entries of a key in the base and on both sides.
struct MergeTriple {
  var base: Entry?
  var first: Entry?
  var second: Entry?

  /// The outcome without an arbiter: the side that changed; nil if both did, differently.
  var plainOutcome: MergeOutcome? {
    // Entries are large, and matching them would copy them.
    let (old, a, b) = (base?.unit, first?.unit, second?.unit)
    switch (a, b) {
    case (nil, nil): return .removed
    case (let a?, let b?):
      if a == b { return .first }
      guard let old else { return nil }
      if b == old { return .first }
      return a == old ? .second : nil
    case (let a?, nil):
      guard let old else { return .first }
      // A change of attributes alone loses to a removal.
      return a == old ? .removed : nil
    case (nil, let b?):
      guard let old else { return .second }
      return b == old ? .removed : nil
    }
  }
}

/// A change in the list of a merge made elsewhere; it decides instead of an arbiter.
package enum RecordedMergeChange: Hashable, Sendable {
  /// The entry that the key refers to: the second predecessor's, or bytes that the merge stored.
  case value(StoredContent, kind: EntryKind?, storedBy: VersionNumber)
  case removal
}
