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
  }
}
