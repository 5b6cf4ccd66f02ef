import LLVSCore

/// Two versions to merge, and how each value differs between them.
struct Merge: Sendable {
  /// The common ancestor; the newest if there are several, nil for unrelated histories.
  let commonAncestor: Version?
  /// The versions; the merge's changes transform the first one's values.
  let versions: (first: Version, second: Version)
  /// The fork of each value that differs between the ancestor and a version.
  let forksByValueIdentifier: [Value.ID: Value.Fork]

  init(_ planned: PlannedMerge) {
    commonAncestor = planned.commonAncestor
    versions = planned.versions
    forksByValueIdentifier = planned.stored.compactMapValues {
      Value.Fork(base: $0.base, first: $0.first, second: $0.second)
    }
  }
}

extension Value {
  /// The change of a value from a common ancestor to two versions.
  enum Fork: Hashable, Sendable {
    enum Branch: Hashable, Sendable {
      case first
      case second
    }

    /// One version has it; the ancestor and the other do not.
    case inserted(Branch)
    /// Both have it, the ancestor does not.
    case twiceInserted
    /// One removed it; the other did not change it.
    case removed(Branch)
    case twiceRemoved
    /// One updated it; the other did not change it.
    case updated(Branch)
    case twiceUpdated
    case removedAndUpdated(removedOn: Branch)

    /// The fork of references, as the original compares them; nil if nothing changed.
    init?(base: VersionNumber?, first: VersionNumber?, second: VersionNumber?) {
      switch (base, first, second) {
      case (nil, nil, nil): return nil
      case (nil, .some, nil): self = .inserted(.first)
      case (nil, nil, .some): self = .inserted(.second)
      case (nil, .some, .some): self = .twiceInserted
      case (.some, nil, nil): self = .twiceRemoved
      case (.some, .some, nil):
        self = first == base ? .removed(.second) : .removedAndUpdated(removedOn: .second)
      case (.some, nil, .some):
        self = second == base ? .removed(.first) : .removedAndUpdated(removedOn: .first)
      case (.some, .some, .some):
        if first == base && second == base { return nil }
        self = second == base ? .updated(.first) : first == base ? .updated(.second) : .twiceUpdated
      }
    }
  }
}
