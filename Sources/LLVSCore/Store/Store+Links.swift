/// The names of hard links: which keys carry a link id in the live tree's map, or did.
///
/// A map answers what stands at a key, not which keys share an id; this says where to look. Whoever sets
/// the live tree's head notes what its changes bring. A key that is named here and carries the id no
/// longer costs a look and means nothing; one that carries it and is missing would be shown as a file of
/// its own.
extension Store {
  /// The keys that carry or carried a link id in the live tree's map, in order.
  ///
  /// - Complexity: O(log *n* + *k*) for *k* keys.
  package func keys(linkedBy id: [UInt8]) throws(StoreError) -> [Key] {
    try catalog.read { (database) throws(StoreError) in
      let statement = try database.prepared("SELECT key FROM links WHERE link = ? ORDER BY key")
        .bind(1, id)
      defer { statement.reset() }
      var keys: [Key] = []
      while try statement.step() { keys.append(Key(bytes: statement.bytes(0))) }
      return keys
    }
  }

  /// Learns the links of a head that was set by a program that did not note them.
  ///
  /// - Complexity: O(*n*), once in the life of a store that is older than its links' table.
  func learnLinks() throws(StoreError) {
    let isKnown = try catalog.read { (database) throws(StoreError) in
      try catalog.property(Catalog.linksProperty, in: database) != nil
    }
    guard !isKnown else { return }
    let map = map(try state().headMap ?? .empty)
    try catalog.write { (database) throws(StoreError) in
      var cursor = MapCursor(map)
      while let entry = try cursor.next() {
        guard let id = entry.attributes.linkID, !entry.isDirectory else { continue }
        try catalog.add(LinkedKey(id: id, key: entry.key), in: database)
      }
      try catalog.setProperty(Catalog.linksProperty, [1], in: database)
    }
  }
}

/// A key that carries a link id.
struct LinkedKey: Hashable {
  var id: [UInt8]
  var key: Key
}

extension WriteTransaction {
  /// Notes what the live tree's map gets at a key, so far as hard links go.
  package func noteLink(_ entry: Entry?) {
    guard let entry, !entry.isDirectory, let id = entry.attributes.linkID else { return }
    linkedKeys.insert(LinkedKey(id: id, key: entry.key))
  }

  /// ``Store/keys(linkedBy:)`` and those that were noted here.
  package func keys(linkedBy id: [UInt8]) throws(StoreError) -> [Key] {
    let noted = linkedKeys.filter { $0.id == id }.map(\.key)
    return Set(try store.keys(linkedBy: id) + noted).sorted()
  }
}

extension Catalog {
  static let linksProperty = "links"

  func add(_ linked: LinkedKey, in database: StoreDatabase) throws(StoreError) {
    try database.prepared("INSERT OR IGNORE INTO links VALUES(?1,?2,llvs_sum(?1,?2))")
      .bind(1, linked.id).bind(2, linked.key.bytes).run()
  }
}
