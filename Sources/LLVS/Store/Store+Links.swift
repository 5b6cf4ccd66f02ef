/// The names of hard links: which keys of the live tree's map carry a link id.
///
/// A map answers what stands at a key, not which keys share an id; this says where to look. Whoever sets
/// the live tree's head notes what its changes bring and take. A key that is named here and carries the id
/// no longer costs a look and means nothing; one that carries it and is missing would be shown as a file
/// of its own.
extension Store {
  /// The keys that carry a link id in the live tree's map, and perhaps some that did.
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
        try catalog.setLink(LinkChange(id: id, key: entry.key, isPresent: true), in: database)
      }
      try catalog.setProperty(Catalog.linksProperty, [1], in: database)
    }
  }
}

/// A name that a link id's file got or lost.
struct LinkChange {
  var id: [UInt8]
  var key: Key
  var isPresent: Bool
}

extension WriteTransaction {
  /// Notes how the live tree's map changes at a key, so far as hard links go.
  package func noteLinks(at key: Key, from old: Entry?, to new: Entry?) {
    let before = old?.isDirectory == true ? nil : old?.attributes.linkID
    let after = new?.isDirectory == true ? nil : new?.attributes.linkID
    guard before != after else { return }
    if let before { add(LinkChange(id: before, key: key, isPresent: false)) }
    if let after { add(LinkChange(id: after, key: key, isPresent: true)) }
  }
}

extension Catalog {
  static let linksProperty = "links"

  func setLink(_ change: LinkChange, in database: Database) throws(StoreError) {
    let statement =
      try change.isPresent
      ? database.prepared("INSERT OR IGNORE INTO links VALUES(?,?)")
      : database.prepared("DELETE FROM links WHERE link = ? AND key = ?")
    try statement.bind(1, change.id).bind(2, change.key.bytes).run()
  }
}
