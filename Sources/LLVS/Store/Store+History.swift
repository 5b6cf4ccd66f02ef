extension Store {
  @discardableResult
  public func queryHistory<Result>(in body: (History) throws -> Result) rethrows -> Result {
    try body(History(store: self, heads: heads))
  }

  public func historyIncludesVersions(identifiedBy versionIdentifiers: [Version.ID]) -> Bool {
    answer(or: false) { try versionIdentifiers.allSatisfy { try backend.contains($0) } }
  }

  /// - Throws: the error of a damaged store.
  public func version(identifiedBy versionId: Version.ID) throws -> Version? {
    try backend.version(versionId)
  }

  /// The newest version without a successor, by timestamp; nil in an empty store.
  public var mostRecentHead: Version? { queryHistory { $0.mostRecentHead } }
  public var hasMultipleHeads: Bool { heads.count > 1 }

  /// Returns the heads whose metadata names a branch, newest first.
  public func heads(withBranch branch: Branch) -> [Version.ID] {
    heads.filter { $0.branch == branch }.map(\.id)
  }

  /// Returns the versions that stored bytes under a key, newest first.
  /// - Throws: the error of a damaged store.
  public func versionIds(for valueId: Value.ID) throws -> [Version.ID] {
    try backend.versionIDs(storing: valueId)
  }
}
