extension Value {
  /// The way a value changed from a common ancestor to two versions.
  public enum Fork: Hashable, Sendable {
    /// One of the two versions.
    public enum Branch: Hashable, Sendable {
      /// The first version.
      case first
      /// The second version.
      case second

      /// The other one.
      public var opposite: Branch { self == .first ? .second : .first }
    }

    /// One version has it, the ancestor and the other do not.
    case inserted(Branch)
    /// Both have it, the ancestor does not.
    case twiceInserted
    /// One removed it, the other left it as it was.
    case removed(Branch)
    /// Both removed it.
    case twiceRemoved
    /// One updated it, the other left it as it was.
    case updated(Branch)
    /// Both updated it.
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
