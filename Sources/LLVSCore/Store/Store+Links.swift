/// The names of hard links: the keys that have a link id in the live tree's map, or had one.
///
/// The code that sets the live tree's head adds the links of its changes. A key that has lost the id costs a
/// look-up; a missing key with the id would be shown as a separate file.
extension Store {
  /// Returns the keys that have or had a link id in the live tree's map, in order.
  package func keys(linkedBy id: [UInt8]) throws(StoreError) -> [Key] {
    try catalog.read { (database) throws(StoreError) in
      try database.prepared("SELECT key FROM links WHERE link = ? ORDER BY key").bind(1, id)
        .all { Key(bytes: $0.bytes(0)) }
    }
  }
}

struct LinkedKey: Hashable {
  var id: [UInt8]
  var key: Key
}

extension WriteTransaction {
  /// Records the link id, if any, of an entry of the live tree's map.
  package func noteLink(_ entry: Entry?) {
    guard let entry, !entry.isDirectory, let id = entry.attributes.linkID else { return }
    linkedKeys.insert(LinkedKey(id: id, key: entry.key))
  }
}

extension StoreDatabase {
  func add(_ linked: LinkedKey) throws(StoreError) {
    try prepared("INSERT OR IGNORE INTO links VALUES(?1,?2,llvs_sum(?1,?2))")
      .bind(1, linked.id).bind(2, linked.key.bytes).run()
  }
}
