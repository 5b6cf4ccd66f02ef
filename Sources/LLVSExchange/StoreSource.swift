package import LLVSCore

/// Another store on this machine, as a place that versions are read from.
package final class StoreSource: VersionSource {
  private let store: Store
  private let ids: [Version.ID]?
  private let control: ExchangeControl

  package init(
    _ store: Store, only ids: [Version.ID]? = nil, control: ExchangeControl = ExchangeControl()
  ) {
    self.store = store
    self.ids = ids
    self.control = control
  }

  package func versionIDs() throws(StoreError) -> [Version.ID] {
    if let ids { return ids }
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

  /// - Throws: ``StoreError/invalid(_:)`` if the version is damaged.
  package func version(_ id: Version.ID) throws(StoreError) -> Version? {
    guard let record = try store.version(id) else { return nil }
    do throws(StoreError) {
      return try store.version(from: record)
    } catch  where error.isDamage {
      throw .invalid("\(store.path): version \(record.name): \(error.message)")
    }
  }

  package func changes(of id: Version.ID) throws(StoreError) -> StoredChanges? {
    guard let record = try store.version(id) else { return nil }
    return StoredChanges(store: store, record: record, control: control)
  }

  package func label(_ id: Version.ID) -> String { "\(store.path): version \(id.rawValue)" }
  package func changesLabel(_ id: Version.ID) -> String { label(id) }
}

package struct StoredChanges: ChangeSource {
  fileprivate let store: Store
  fileprivate let record: VersionRecord
  fileprivate let control: ExchangeControl

  package func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError) {
    // An error of the taking side is passed on; a fault of the other store is one of the version.
    var failure: StoreError?
    func taking<R>(_ take: () throws(StoreError) -> R) throws(StoreError) -> R {
      do throws(StoreError) {
        return try take()
      } catch {
        failure = error
        throw error
      }
    }
    do throws(StoreError) {
      try store.forEachChange(toSendOf: record) { (change) throws(StoreError) in
        let stored = try change.map { (entry) throws(StoreError) in
          do throws(StoreError) {
            try store.contents.forEachPiece(of: entry.stored, named: entry.key) {
              (piece) throws(StoreError) in
              try control.check()
              try taking { () throws(StoreError) in try sink.append(piece) }
            }
          } catch  where failure == nil && error.isForgotten {
            return try taking { () throws(StoreError) in
              try sink.absent(entry.stored.digest, length: entry.stored.length)
            }
          }
          return try taking { () throws(StoreError) in try sink.finish(at: change.key) }
        }
        try taking { () throws(StoreError) in try body(stored) }
      }
    } catch  where failure == nil && error.isDamage {
      throw .invalid("\(store.path): version \(record.name): \(error.message)")
    }
  }
}
