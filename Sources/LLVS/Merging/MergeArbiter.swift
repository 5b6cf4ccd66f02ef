/// Decides about values that both sides of a merge changed.
public protocol MergeArbiter {
  /// Returns a change of the first version for at least every conflicting fork.
  /// - Throws: any error, which ends the merge; then nothing is stored.
  func changes(toResolve merge: Merge, in store: Store) throws -> [Value.Change]
}

/// Takes every conflicting value from the newer version, removals too.
public struct MostRecentBranchFavoringArbiter: MergeArbiter, Sendable {
  public init() {}

  public func changes(toResolve merge: Merge, in store: Store) throws -> [Value.Change] {
    let (first, second) = merge.versions
    let favored: Value.Fork.Branch = first.timestamp >= second.timestamp ? .first : .second
    return try merge.conflicts.map { id, fork in
      if fork == .removedAndUpdated(removedOn: favored) { return .preserveRemoval(id) }
      return .preserve(try merge.reference(id, on: favored, in: store))
    }
  }
}

/// Takes the value that was stored last for every conflict; an update wins over a removal.
public struct MostRecentChangeFavoringArbiter: MergeArbiter, Sendable {
  public init() {}

  public func changes(toResolve merge: Merge, in store: Store) throws -> [Value.Change] {
    try merge.conflicts.map { id, fork in
      if case .removedAndUpdated(let removedOn) = fork {
        return .preserve(try merge.reference(id, on: removedOn.opposite, in: store))
      }
      let first = try merge.reference(id, on: .first, in: store)
      let second = try merge.reference(id, on: .second, in: store)
      let isFirst = try timestamp(first, in: store) >= timestamp(second, in: store)
      return .preserve(isFirst ? first : second)
    }
  }

  private func timestamp(_ reference: Value.Reference, in store: Store) throws -> Double {
    guard let version = try store.version(identifiedBy: reference.storedVersionId) else {
      throw Store.Error.missingVersion
    }
    return version.timestamp
  }
}
