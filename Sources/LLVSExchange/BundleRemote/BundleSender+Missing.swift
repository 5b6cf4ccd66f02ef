import LLVSCore

extension BundleSender {
  /// Returns the versions whose outline nothing there holds.
  func missing() throws(StoreError) -> [VersionNumber] {
    refresh()
    let numbers = session.versions(in: view.names.filter(view.holds))
    var ids: Set<Version.ID> = []
    for bundle in try BundleRemoteSource(session).unread where view.holds(bundle.name) {
      ids.formUnion(bundle.ids)
    }
    let missing = try session.store.versionsToSend(session.control, after: numbers.beginning) {
      node in
      numbers.contains(node.number) || ids.contains(node.id)
    }
    // A head that another one contains now was sent before that.
    let lost = session.lost(in: view).flatMap { session.versions(of: $0) ?? [] }
    return Set(lost.filter { !numbers.contains($0) }).union(missing).sorted()
  }

  /// Lists again if bundles of other writers are relied on, and puts what stopped counting.
  func completeRelied() throws(StoreError) {
    // A bundle that is put here may rely on others again.
    for _ in 0..<8 {
      guard options.send.mustListAgain(relyingOn: relied.map(\.writer), as: session.writer) else {
        return
      }
      let needs = relied
      relied = []
      try session.listAgain()
      refresh()
      guard !needs.allSatisfy({ view.counts($0) }) else { return }
      for record in sent { try putItems(of: record) }
      try close()
    }
    throw .unreachable("other stores go on removing what this send relies on")
  }
}
