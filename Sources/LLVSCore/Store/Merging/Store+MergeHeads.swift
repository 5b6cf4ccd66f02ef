extension Store {
  /// Which heads are merged into another.
  public enum MergeHeadSelection: Hashable, Sendable {
    /// Every head.
    case all
    /// Every head that carries no branch's name.
    case allExceptBranches
    /// Heads without a branch, and heads of these branches.
    case allUnbranchedAndSpecificBranches([Branch])
    /// Heads of these branches.
    case specificBranchesOnly([Branch])

    fileprivate func contains(_ line: Branch?) -> Bool {
      switch self {
      case .all: true
      case .allExceptBranches: line == nil
      case .allUnbranchedAndSpecificBranches(let branches): line.map(branches.contains) ?? true
      case .specificBranchesOnly(let branches): line.map(branches.contains) ?? false
      }
    }
  }

  /// Returns the heads that ``mergeHeads(into:resolvingWith:headSelection:metadata:)`` would merge, oldest
  /// (timestamp, id) first.
  public func headsToMerge(
    into id: Version.ID, headSelection: MergeHeadSelection = .allExceptBranches
  ) throws(StoreError) -> [Version.ID] {
    try graph.heads().filter { $0.id != id && headSelection.contains($0.line) }
      .sorted(by: HistoryNode.mergesBefore).map(\.id)
  }

  /// Merges heads into a version, one after the other, oldest first.
  ///
  /// - Parameters:
  ///   - id: the version that the first merge starts from.
  ///   - arbiter: decides where both changed a value.
  ///   - headSelection: which heads.
  ///   - metadata: what is said of each merge.
  /// - Returns: the version that holds all; nil if there was nothing to merge.
  /// - Throws: as ``merge(version:with:resolvingWith:metadata:)``; merges made before stay.
  @discardableResult
  public func mergeHeads(
    into id: Version.ID, resolvingWith arbiter: some MergeArbiter,
    headSelection: MergeHeadSelection = .allExceptBranches, metadata: Version.Metadata = [:]
  ) throws -> Version.ID? {
    let heads = try headsToMerge(into: id, headSelection: headSelection)
    guard !heads.isEmpty else { return nil }
    var current = id
    for head in heads {
      current = try merge(
        version: current, with: head, resolvingWith: arbiter, metadata: metadata
      ).id
    }
    return current
  }
}
