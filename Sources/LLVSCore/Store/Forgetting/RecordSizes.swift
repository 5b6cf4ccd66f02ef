/// Adds up the records of values, each record once, without those that are forgotten.
package struct RecordSizes {
  private let store: Store
  private var seen: Set<UInt64> = []

  package init(of store: Store) { self.store = store }

  /// Returns the bytes of a value's records that no earlier call counted.
  /// - Complexity: O(nodes of the value).
  package mutating func add(_ stored: StoredContent) throws(StoreError) -> UInt64 {
    switch stored.content {
    case .none, .inline: 0
    case .chunk(let place): try add(place, .chunk, stored.length)
    case .tree(let place): try add(place, .valueNode, nil)
    }
  }

  private mutating func add(
    _ place: Location, _ kind: RecordKind, _ length: UInt64?
  ) throws(StoreError) -> UInt64 {
    guard try count(place) else { return 0 }
    var bytes = UInt64(place.length)
    for base in try store.records.bases(of: place, kind, length) where try count(base) {
      bytes += UInt64(base.length)
    }
    guard kind == .valueNode else { return bytes }
    for item in try store.records.items(below: place) {
      guard let location = item.location else { continue }
      bytes += try add(location, item.kind == .chunk ? .chunk : .valueNode, item.length)
    }
    return bytes
  }

  private mutating func count(_ place: Location) throws(StoreError) -> Bool {
    guard seen.insert(place.key).inserted else { return false }
    return try !(store.records.gone?.contains(place) ?? false)
  }
}

extension Store {
  /// The bytes of the records that this store has forgotten.
  package func forgottenBytes() throws(StoreError) -> UInt64 {
    let segments = try catalog.read { (database) throws(StoreError) in
      try database.segmentsWithGone()
    }
    var bytes: UInt64 = 0
    for segment in segments { bytes += try records.gone?.ranges(in: segment)?.length ?? 0 }
    return bytes
  }
}
