import LLVSCore

extension Store {
  @discardableResult
  func makeVersion(
    basedOnPredecessor version: Version.ID?, inserting inserted: [Value] = [],
    updating updated: [Value] = []
  ) throws(StoreError) -> Version {
    try makeVersion(
      basedOn: version.map { Version.Predecessors(idOfFirst: $0) },
      storing: inserted.map { .insert($0) } + updated.map { .update($0) })
  }
}
