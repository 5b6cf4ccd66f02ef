// Bundles at remotes: their facts, their state in this store and their items. The exchange defines the meaning. A
// note is removed with its bundle.

package struct RemoteBundleNote: Hashable, Sendable {
  package var name: String
  package var state: Int64
  /// Seconds since 1970, by this machine's clock, of the PUT and of the announced removal; 0 for none.
  package var put: Int64
  package var announced: Int64
  /// The statements of the bundle, in a format of the exchange.
  package var facts: [UInt8]

  package init(
    name: String, state: Int64, put: Int64 = 0, announced: Int64 = 0, facts: [UInt8] = []
  ) {
    self.name = name
    self.state = state
    self.put = put
    self.announced = announced
    self.facts = facts
  }
}

/// An item of a bundle: a key of at most 64 bytes, and whether the bundle holds it as a patch.
package struct RemoteBundleItem: Hashable, Sendable {
  package var key: [UInt8]
  package var isPatch: Bool

  package init(key: [UInt8], isPatch: Bool) {
    self.key = key
    self.isPatch = isPatch
  }
}

package enum RemoteBundleChange: Sendable {
  /// Writes a note and the bundle's items in order of their places.
  case set(RemoteBundleNote, items: [RemoteBundleItem]?)
  case remove(String)
}

extension StoreDatabase {
  /// Returns all notes about bundles at remotes, with their numbers; a damaged row is left out.
  package func remoteBundles() throws(StoreError) -> [(number: Int64, note: RemoteBundleNote)] {
    try prepared(
      """
      SELECT number, name, state, put, announced, facts FROM remote_bundles
      WHERE sum IS llvs_sum(number, name, state, put, announced, facts)
      """
    ).all { row in
      let note = RemoteBundleNote(
        name: row.text(1), state: row.integer(2), put: row.integer(3), announced: row.integer(4),
        facts: row.bytes(5))
      return (row.integer(0), note)
    }
  }

  package func bundles(
    holding item: [UInt8]
  ) throws(StoreError) -> [(number: Int64, place: Int, isPatch: Bool)] {
    try prepared(
      """
      SELECT bundle, place FROM remote_items WHERE item = ? AND sum IS llvs_sum(item, bundle, place)
      """
    ).bind(1, item).all { row in
      let place = row.integer(1)
      return (row.integer(0), Int(max(place, ~place)), place < 0)
    }
  }

  package func items(
    inRemoteBundle number: Int64
  ) throws(StoreError) -> [RemoteBundleItem] {
    try prepared(
      "SELECT item, place FROM remote_items WHERE bundle = ? ORDER BY max(place, ~place)"
    )
    .bind(1, number).all { RemoteBundleItem(key: $0.bytes(0), isPatch: $0.integer(1) < 0) }
  }

  func apply(_ change: RemoteBundleChange) throws(StoreError) {
    switch change {
    case .remove(let name):
      guard let number = try remoteNumber(name) else { return }
      try prepared("DELETE FROM remote_items WHERE bundle = ?").bind(1, number).run()
      try prepared("DELETE FROM remote_bundles WHERE number = ?").bind(1, number).run()
    case .set(let note, let items):
      let next = (try integer("SELECT max(number) FROM remote_bundles") ?? 0) + 1
      let number = try remoteNumber(note.name) ?? next
      try prepared(
        """
        INSERT OR REPLACE INTO remote_bundles
        VALUES(?1, ?2, ?3, ?4, ?5, ?6, llvs_sum(?1, ?2, ?3, ?4, ?5, ?6))
        """
      ).bind(1, number).bind(2, note.name).bind(3, note.state).bind(4, note.put)
        .bind(5, note.announced).bind(6, note.facts).run()
      guard let items else { return }
      try prepared("DELETE FROM remote_items WHERE bundle = ?").bind(1, number).run()
      // In the order of items, neighbours are in the same page.
      let sorted = zip(items, 0...).sorted { $0.0.key.lexicographicallyPrecedes($1.0.key) }
      for (item, place) in sorted {
        // The complement of its place says that an item is a patch.
        let place = Int64(item.isPatch ? ~place : place)
        try prepared(
          "INSERT OR REPLACE INTO remote_items VALUES(?1, ?2, ?3, llvs_sum(?1, ?2, ?3))"
        ).bind(1, item.key).bind(2, number).bind(3, place).run()
      }
    }
  }

  package func remoteNumber(_ name: String) throws(StoreError) -> Int64? {
    try prepared("SELECT number FROM remote_bundles WHERE name = ?").bind(1, name)
      .first { $0.integer(0) }
  }
}
