import LLVSCore

/// Decides what becomes of values that both sides of a merge changed.
typealias ForkDecision = (Merge, Store) throws -> [Value.Change]

extension Value.Fork.Branch {
  var opposite: Value.Fork.Branch { self == .first ? .second : .first }
}

extension Value.Fork {
  /// True if an arbiter has to decide.
  var isConflicting: Bool {
    switch self {
    case .twiceInserted, .twiceUpdated, .removedAndUpdated: true
    case .inserted, .removed, .twiceRemoved, .updated: false
    }
  }
}

extension Store {
  /// Merges two versions as a program with an arbiter of its own does.
  @discardableResult
  func merge(
    _ first: Version.ID, with second: Version.ID, metadata: Version.Metadata = [:],
    by decide: ForkDecision
  ) throws -> Version {
    let planned = try planMerge(
      of: first, with: second, metadata: metadata, isUnrelatedAllowed: true)
    switch planned {
    case .fastForward(let version): return version
    case .merge(let planned): return try make(planned, by: decide(Merge(planned), self), metadata)
    }
  }
}

/// The two arbiters of the original.
enum OriginalArbiter {
  /// Takes every conflicting value from the version that is newer, removals too.
  static func mostRecentBranch(_ merge: Merge, in store: Store) throws -> [Value.Change] {
    let (first, second) = merge.versions
    let favored: Value.Fork.Branch = first.timestamp >= second.timestamp ? .first : .second
    return try conflicts(of: merge).map { id, fork in
      if fork == .removedAndUpdated(removedOn: favored) { return .preserveRemoval(id) }
      return .preserve(try reference(id, on: favored, of: merge, in: store))
    }
  }

  /// Takes of every conflicting value the one that was stored last; an update wins over a removal.
  static func mostRecentChange(_ merge: Merge, in store: Store) throws -> [Value.Change] {
    func time(_ reference: Value.Reference) throws -> Double {
      try require(try store.version(identifiedBy: reference.storedVersionId)).timestamp
    }
    return try conflicts(of: merge).map { id, fork in
      if case .removedAndUpdated(let removedOn) = fork {
        return .preserve(try reference(id, on: removedOn.opposite, of: merge, in: store))
      }
      let first = try reference(id, on: .first, of: merge, in: store)
      let second = try reference(id, on: .second, of: merge, in: store)
      return .preserve(try time(first) >= time(second) ? first : second)
    }
  }

  private static func conflicts(of merge: Merge) -> [(Value.ID, Value.Fork)] {
    merge.forksByValueIdentifier.filter(\.value.isConflicting).sorted { $0.key < $1.key }
      .map { ($0.key, $0.value) }
  }

  private static func reference(
    _ id: Value.ID, on branch: Value.Fork.Branch, of merge: Merge, in store: Store
  ) throws -> Value.Reference {
    let version = branch == .first ? merge.versions.first : merge.versions.second
    return try require(try store.valueReference(id: id, at: version.id))
  }
}
