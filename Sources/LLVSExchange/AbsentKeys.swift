import LLVSCore

/// The keys of received versions at which the sender had no bytes.
/// - Concurrency: used by its transaction's thread.
final class AbsentKeys {
  /// The most versions whose keys are kept.
  private static let limit = 64
  private let transaction: WriteTransaction
  private let store: Store
  private let before: NumberSet
  private var known: [VersionNumber: Set<Key>] = [:]

  init(_ transaction: WriteTransaction) throws(StoreError) {
    self.transaction = transaction
    store = transaction.store
    before = try store.absentVersions()
  }

  /// Notes a version if values in its map have no bytes. `changed` are the keys at which the map differs from that of
  /// the first predecessor.
  /// - Complexity: O(changes + keys without bytes), and O(map) for a predecessor of an earlier transaction that
  ///   lacks bytes; O(1) for a store that got all bytes.
  func note(
    _ number: VersionNumber, after first: VersionNumber?, changing changed: [Key], _ map: ValueMap
  ) throws(StoreError) {
    guard transaction.hasAbsent || !before.isEmpty else { return }
    var keys = try first.map { (first) throws(StoreError) in try self.keys(of: first) } ?? []
    for key in changed {
      if try map.entry(at: key)?.stored.isAbsent == true {
        keys.insert(key)
      } else {
        keys.remove(key)
      }
    }
    if known.count >= Self.limit { known = [:] }
    known[number] = keys
    if !keys.isEmpty { transaction.add(absent: number) }
  }

  private func keys(of number: VersionNumber) throws(StoreError) -> Set<Key> {
    if let keys = known[number] { return keys }
    guard before.contains(number), let record = try store.version(number) else { return [] }
    var keys: Set<Key> = []
    var diff = try MapDiff(from: store.map(.empty), to: store.map(of: record))
    while let change = try diff.next() {
      if let entry = change.new, entry.stored.isAbsent { keys.insert(entry.key) }
    }
    return keys
  }
}
