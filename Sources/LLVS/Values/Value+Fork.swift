extension Value {
  /// The way a value changed from a common ancestor to two versions.
  public enum Fork: Hashable, Sendable {
    public enum Branch: Hashable, Sendable {
      case first
      case second

      public var opposite: Branch { self == .first ? .second : .first }
    }

    /// One version has it; the ancestor and the other do not.
    case inserted(Branch)
    case twiceInserted
    /// One removed it; the other did not change it.
    case removed(Branch)
    case twiceRemoved
    /// One updated it; the other did not change it.
    case updated(Branch)
    case twiceUpdated
    /// One removed it, the other updated it.
    case removedAndUpdated(removedOn: Branch)

    /// True if an arbiter has to decide.
    public var isConflicting: Bool {
      switch self {
      case .twiceInserted, .twiceUpdated, .removedAndUpdated: true
      case .inserted, .removed, .twiceRemoved, .updated: false
      }
    }

    /// The fork of where the bytes were stored; nil if both sides have the same.
    init?<Stored: Equatable>(base: Stored?, first: Stored?, second: Stored?) {
      switch (base, first, second) {
      case (nil, nil, nil): return nil
      case (nil, .some, nil): self = .inserted(.first)
      case (nil, nil, .some): self = .inserted(.second)
      case (.some, nil, nil): self = .twiceRemoved
      case (let base?, let first?, nil):
        self = first == base ? .removed(.second) : .removedAndUpdated(removedOn: .second)
      case (let base?, nil, let second?):
        self = second == base ? .removed(.first) : .removedAndUpdated(removedOn: .first)
      case (let base, let first?, let second?):
        if first == second { return nil }
        guard let base else {
          self = .twiceInserted
          return
        }
        self = second == base ? .updated(.first) : first == base ? .updated(.second) : .twiceUpdated
      }
    }
  }
}
