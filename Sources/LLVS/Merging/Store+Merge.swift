extension Store {
  public enum MergeHeadSelection: Hashable, Sendable {
    case all
    /// Every head without a branch's name.
    case allExceptBranches
    case allUnbranchedAndSpecificBranches([Branch])
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

  /// Merges two versions: three-way over their common ancestor, two-way without one.
  /// Makes no version if one is an ancestor of the other.
  /// - Throws: ``Store/Error/missingVersion``; ``Store/Error/unresolvedConflict(valueId:valueFork:)``
  ///   if the arbiter does not name a conflicting value; ``Store/Error/invalid(_:)`` for a version
  ///   that other stores would refuse; the error of the arbiter, which is called without locks.
  @discardableResult
  public func merge(
    version firstVersionId: Version.ID, with secondVersionId: Version.ID,
    resolvingWith arbiter: any MergeArbiter, metadata: Version.Metadata = [:]
  ) throws -> Version {
    try merge(firstVersionId, secondVersionId, arbiter, metadata, isUnrelatedAllowed: true)
  }

  /// Merges two versions that have a common ancestor.
  /// - Throws: ``Store/Error/noCommonAncestor(firstVersion:secondVersion:)``.
  @discardableResult
  public func mergeRelated(
    version firstVersionId: Version.ID, with secondVersionId: Version.ID,
    resolvingWith arbiter: any MergeArbiter, metadata: Version.Metadata = [:]
  ) throws -> Version {
    try merge(firstVersionId, secondVersionId, arbiter, metadata, isUnrelatedAllowed: false)
  }

  /// Does the same as ``merge(version:with:resolvingWith:metadata:)``.
  /// - Throws: as ``merge(version:with:resolvingWith:metadata:)``.
  @discardableResult
  public func mergeUnrelated(
    version firstVersionId: Version.ID, with secondVersionId: Version.ID,
    resolvingWith arbiter: any MergeArbiter, metadata: Version.Metadata = [:]
  ) throws -> Version {
    try merge(firstVersionId, secondVersionId, arbiter, metadata, isUnrelatedAllowed: true)
  }

  private func merge(
    _ firstId: Version.ID, _ secondId: Version.ID, _ arbiter: any MergeArbiter,
    _ metadata: Version.Metadata, isUnrelatedAllowed: Bool
  ) throws -> Version {
    let plan = try backend.planMerge(
      of: firstId, with: secondId, metadata: metadata, isUnrelatedAllowed: isUnrelatedAllowed)
    switch plan {
    case .fastForward(let version): return version
    case .merge(let merge, let make):
      let changes = try arbiter.changes(toResolve: merge, in: self)
      do {
        let version = try make(changes)
        noteNewVersions()
        return version
      } catch Error.unresolvedConflict(let id, let fork) {
        throw Error.unresolvedConflict(
          valueId: id, valueFork: merge.forksByValueIdentifier[id] ?? fork)
      }
    }
  }

  /// The selected heads without the version itself, oldest first.
  public func headsToMerge(
    into versionId: Version.ID, headSelection: MergeHeadSelection = .allExceptBranches
  ) -> [Version.ID] {
    heads.filter { $0.id != versionId && headSelection.contains($0.branch) }
      .sorted { ($0.timestamp, $0.id) < ($1.timestamp, $1.id) }.map(\.id)
  }

  /// Merges heads into a version, one after the other, oldest first.
  /// - Returns: the version that contains all; nil if nothing had to be merged.
  /// - Throws: as ``merge(version:with:resolvingWith:metadata:)``; earlier merges stay.
  @discardableResult
  public func mergeHeads(
    into versionId: Version.ID, resolvingWith arbiter: any MergeArbiter,
    headSelection: MergeHeadSelection = .allExceptBranches, metadata: Version.Metadata = [:]
  ) throws -> Version.ID? {
    let heads = headsToMerge(into: versionId, headSelection: headSelection)
    guard !heads.isEmpty else { return nil }
    var current = versionId
    for head in heads {
      current = try merge(
        version: current, with: head, resolvingWith: arbiter, metadata: metadata
      ).id
    }
    return current
  }
}
