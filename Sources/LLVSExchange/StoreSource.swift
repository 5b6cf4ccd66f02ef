package import LLVSCore

/// Another store on this machine, as a place that versions are read from: its records, without a text in
/// between.
package final class StoreSource: VersionSource {
  private let store: Store
  private let control: ExchangeControl

  package init(_ store: Store, control: ExchangeControl = ExchangeControl()) {
    self.store = store
    self.control = control
  }

  /// The ids of all versions of the store, in the order of their names.
  package func versionIDs() throws(StoreError) -> [Version.ID] {
    var ids: [Version.ID] = []
    var last: String?
    while true {
      let page = try store.versions(afterName: last, limit: 1024)
      guard let end = page.last else { return ids }
      last = end.name
      ids += page.map(\.id)
      try control.check()
    }
  }

  /// Returns a version; nil if the store lacks it.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` if it is damaged.
  package func version(_ id: Version.ID) throws(StoreError) -> Version? {
    guard let record = try store.version(id) else { return nil }
    do throws(StoreError) {
      return try store.version(from: record)
    } catch {
      // A damaged version does not stop the retrieval of the others.
      guard error.isDamage else { throw error }
      throw .invalid("\(store.path): version \(record.name): \(error.message)")
    }
  }

  /// Returns the changes of a version; nil if the store lacks it.
  package func changes(of id: Version.ID) throws(StoreError) -> StoredChanges? {
    guard let record = try store.version(id) else { return nil }
    return StoredChanges(store: store, record: record, control: control)
  }

  /// Returns the store's path and the version's name.
  package func label(_ id: Version.ID) -> String { "\(store.path): version \(id.rawValue)" }

  /// Returns the same.
  package func changesLabel(_ id: Version.ID) -> String { label(id) }

  /// Returns true if the text begins with the store's path.
  package func isNamed(_ reason: String) -> Bool { reason.hasPrefix("\(store.path): ") }
}

/// The changes of a version of another store.
package struct StoredChanges: ChangeSource {
  fileprivate let store: Store
  fileprivate let record: VersionRecord
  fileprivate let control: ExchangeControl

  package func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError) {
    // An error of the taking side is passed on as it is; a fault of the other store is one of the version.
    var failure: StoreError?
    func taking(_ take: () throws(StoreError) -> Void) throws(StoreError) {
      do throws(StoreError) {
        try take()
      } catch {
        failure = error
        throw error
      }
    }
    do throws(StoreError) {
      try withoutActuallyEscaping(body) { (body) throws(StoreError) in
        var passing = PassingSink(
          append: { [control] (piece) throws(StoreError) in
            try control.check()
            try taking { () throws(StoreError) in try sink.append(piece) }
          },
          change: { (change) throws(StoreError) in
            try taking { () throws(StoreError) in
              try body(try change.map { (_: Void) throws(StoreError) in try sink.finish() })
            }
          })
        try store.writeChanges(of: record, to: &passing)
      }
    } catch {
      guard failure == nil, error.isDamage else { throw error }
      throw .invalid("\(store.path): version \(record.name): \(error.message)")
    }
  }
}

/// Passes changes on one by one; the bytes of a value come before its change.
private struct PassingSink: ChangeSink {
  let append: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  let change: (WireChange<Void>) throws(StoreError) -> Void

  mutating func insert(_ key: Key, _ entry: Entry, data: Pieces) throws(StoreError) {
    try data(append)
    try change(.insert(key, ()))
  }

  mutating func update(_ key: Key, _ entry: Entry, data: Pieces) throws(StoreError) {
    try data(append)
    try change(.update(key, ()))
  }

  mutating func remove(_ key: Key) throws(StoreError) { try change(.remove(key)) }

  mutating func preserve(_ key: Key, storedIn stored: Version.ID) throws(StoreError) {
    try change(.preserve(key, stored))
  }

  mutating func preserveRemoval(_ key: Key) throws(StoreError) {
    try change(.preserveRemoval(key))
  }
}
