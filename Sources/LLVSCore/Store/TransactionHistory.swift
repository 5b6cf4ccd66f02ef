/// The versions that a write transaction sees: the committed ones and its own. Unchecked: one thread uses the
/// transaction, and this object lives no longer.
final class TransactionHistory: HistorySource, VersionMaps, DocumentVersions, @unchecked Sendable {
  private unowned let transaction: WriteTransaction
  private let store: Store

  init(_ transaction: WriteTransaction) {
    self.transaction = transaction
    store = transaction.store
  }

  private func own(_ number: VersionNumber) -> VersionRecord? {
    // Numbers are allocated in order, without gaps.
    guard let first = transaction.added.first?.number, number >= first else { return nil }
    let index = Int(number.rawValue - first.rawValue)
    return index < transaction.added.count ? transaction.added[index] : nil
  }

  func historyNode(_ number: VersionNumber) throws(StoreError) -> HistoryNode {
    if let own = own(number) { return HistoryNode(own) }
    return try store.graph.node(number)
  }

  func historyHeads() throws(StoreError) -> [VersionNumber] {
    let inner = Set(transaction.added.flatMap(\.predecessors))
    let committed = try store.headNumbers()
    return (committed + transaction.added.map(\.number)).filter { !inner.contains($0) }
  }

  func historyHeads(ofLine line: Branch?) throws(StoreError) -> [VersionNumber] {
    let name = line?.rawValue ?? VersionRecord.unnamedLine
    let mine = transaction.added.filter { $0.line.utf8.elementsEqual(name.utf8) }
    let inner = Set(mine.flatMap(\.predecessors))
    return (try store.headNumbers(ofLine: name) + mine.map(\.number)).filter { !inner.contains($0) }
  }

  func valueMap(ofVersion number: VersionNumber) throws(StoreError) -> ValueMap {
    if let own = own(number) { return store.map(of: own) }
    return try store.history.valueMap(ofVersion: number)
  }

  func knownBases(over storage: any NodeStorage) -> KnownBases { transaction.knownBases() }

  func metadata(ofVersion number: VersionNumber) throws(StoreError) -> Version.Metadata {
    if let own = own(number) { return try store.metadata(of: own) }
    return try store.history.metadata(ofVersion: number)
  }

  var documents: DocumentStates? {
    DocumentStates(
      source: self, cache: store.history.documentStates, own: transaction.documentStates,
      committed: transaction.lastCommitted)
  }
}

extension WriteTransaction {
  /// The graph of the versions that this transaction sees, including those that it added.
  /// Made for each call: its cache must not outlive a transaction that is rolled back.
  package var graph: VersionGraph { VersionGraph(source: TransactionHistory(self)) }

  /// Merges versions, including those that this transaction added.
  package var merger: Merger {
    let history = TransactionHistory(self)
    return Merger(graph: VersionGraph(source: history), maps: history)
  }
}
