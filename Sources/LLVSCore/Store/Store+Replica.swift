internal import Synchronization

extension Store {
  private static let formerSetting = "replica.former"

  /// The ids that the store had before ``renewReplica()``.
  package func formerReplicaIDs() throws(StoreError) -> [String] {
    let text = try state().settings[Store.formerSetting] ?? []
    return String(decoding: text, as: UTF8.self).split(separator: " ").map(String.init)
  }

  /// Gives this copy of the store another id, so that later versions have another writer.
  ///
  /// A copied or restored store gets one when it is opened. This is for a machine that was set back while the store
  /// was open: the versions that it lost may exist elsewhere with the same writer.
  package func renewReplica() throws(StoreError) -> String {
    guard mode == .writer else { throw .readOnly }
    let former = try formerReplicaIDs() + [replicaID]
    try write { (transaction) throws(StoreError) in
      transaction.set(Store.formerSetting, to: Array(former.joined(separator: " ").utf8))
    }
    let renewed = Store.newReplicaID()
    try catalog.write { (database) throws(StoreError) in
      try database.setProperty("replica", Array(renewed.utf8))
    }
    replica.withLock { $0 = renewed }
    return renewed
  }
}
