internal import Platform
internal import Synchronization

/// Committing.
///
/// INVARIANT S1: a record is durable before anything refers to it. The order is: append records to the segments;
/// write the rows that refer to them in one SQLite transaction; sync the segments; commit the transaction, which
/// makes it durable; only then publish the new state to other threads. After an error at any step the last commit
/// is current. (`RecordStore.swift` states the other half.)
///
/// INVARIANT S2: opening after any crash gives the last committed state. Bytes of segments that no
///   committed version refers to are ignored; SQLite recovers its last commit from its log.
extension Store {
  /// Runs the body as the only writer: all its changes become visible at once, or none if it throws. The body must
  /// not call this function. The commit survives a power failure.
  package func write<Result>(
    _ body: (WriteTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard mode == .writer else { throw .readOnly }
    try checkPresence()
    let outcome = writeLock.withLock { latest in
      Swift.Result<Unchecked<(Result, Bool)>, StoreError> { () throws(StoreError) in
        Unchecked(value: try commit(body, &latest))
      }
    }
    let (result, adds) = try outcome.get().value
    if adds { for listener in versionListeners.withLock({ Array($0.values) }) { listener() } }
    return result
  }

  /// Returns the body's result, and true if there are new versions; `latest` is the last of them.
  private func commit<Result>(
    _ body: (WriteTransaction) throws(StoreError) -> Result, _ latest: inout VersionRecord?
  ) throws(StoreError) -> (Result, Bool) {
    records.beginWriting()
    defer { records.endWriting() }
    defer { catalog.endView() }
    let transaction = WriteTransaction(
      store: self, lastNumber: published.withLock { $0.lastNumber }, latest: latest)
    do throws(StoreError) {
      let result = try body(transaction)
      return (result, try commit(transaction, &latest))
    } catch {
      if case .cancelled = error { records.discard() }
      throw error
    }
  }

  /// Returns true if there are new versions.
  private func commit(
    _ transaction: WriteTransaction, _ latest: inout VersionRecord?
  ) throws(StoreError) -> Bool {
    guard !transaction.namesNothing else { return false }
    // The disk writes the records while their rows are made.
    try records.startSync()
    try catalog.write { (database) throws(StoreError) in
      for record in transaction.added { try database.add(record) }
      for entry in transaction.heads { try database.appendHead(entry) }
      for (name, value) in transaction.settings { try database.setSetting(name, value) }
      if !transaction.heads.isEmpty
        || transaction.settings.contains(where: { StoreDatabase.isOwn(setting: $0.0) })
      {
        try database.keepEssentials()
      }
      for linked in transaction.linkedKeys { try database.add(linked) }
      for (hash, versions) in transaction.bundles {
        try database.setVersions(versions, inBundle: hash)
      }
      for change in transaction.remoteBundles { try database.apply(change) }
      for (name, peer) in transaction.peers { try database.setPeer(name, peer) }
      if let forgetting = transaction.forgetting { try database.apply(forgetting) }
      if transaction.hasAbsent { try database.noteForgotten() }
      if !transaction.absent.isEmpty { try database.add(absent: transaction.absent) }
      // The next commit is the first to refer to the records.
      try records.sync()
      if transaction.isCancelled() { throw .cancelled }
    }
    if !transaction.bundles.isEmpty || !transaction.remoteBundles.isEmpty {
      catalog.remoteLedger.noteChange()
    }
    if let forgetting = transaction.forgetting {
      records.gone?.note(forgetting.gone)
      contents.releaseMemory()
    }
    published.withLock { state in
      state.lastNumber += UInt32(transaction.added.count)
      if let head = transaction.heads.last {
        state.head = head.version
        state.headMap = head.map
      }
      for (name, value) in transaction.settings {
        state.settings[name] = value
        state.damagedSettings.removeAll { $0 == name }
      }
    }
    if let last = transaction.added.last { latest = last }
    transaction.confirmBases()
    // The next version is usually based on one of these.
    for record in transaction.added.suffix(16) { graph.remember(HistoryNode(record)) }
    index.add(chunks: transaction.newChunks, changes: transaction.changedKeys)
    return !transaction.added.isEmpty
  }

  static func now() -> Int64 { SystemClock.now() }

  /// Carries a result out of the lock on the thread that acquired it.
  private struct Unchecked<Value>: @unchecked Sendable { let value: Value }
}
