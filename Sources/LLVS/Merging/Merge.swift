public struct Merge: Sendable {
  /// The common ancestor; the newest if there are several, nil for unrelated histories.
  public var commonAncestor: Version?
  /// The versions; the merge's changes transform the first one's values.
  public var versions: (first: Version, second: Version)
  /// The fork of each value that differs between the ancestor and a version.
  public var forksByValueIdentifier: [Value.ID: Value.Fork]

  /// Describes a merge, or a part that an arbiter leaves to another.
  public init(
    versions: (first: Version, second: Version), commonAncestor: Version?,
    forksByValueIdentifier: [Value.ID: Value.Fork] = [:]
  ) {
    self.commonAncestor = commonAncestor
    self.versions = versions
    self.forksByValueIdentifier = forksByValueIdentifier
  }

  var conflicts: [(id: Value.ID, fork: Value.Fork)] {
    forksByValueIdentifier.filter(\.value.isConflicting).sorted { $0.key < $1.key }
      .map { ($0.key, $0.value) }
  }

  func reference(
    _ id: Value.ID, on branch: Value.Fork.Branch, in store: Store
  ) throws -> Value.Reference {
    let version = branch == .first ? versions.first : versions.second
    guard let reference = try store.valueReference(id: id, at: version.id) else {
      throw Store.Error.unresolvedConflict(
        valueId: id, valueFork: forksByValueIdentifier[id] ?? .twiceUpdated)
    }
    return reference
  }
}
