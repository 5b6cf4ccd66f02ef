/// A set of places in bounded memory: it keeps at least the last quarter of a million that were inserted or found.
struct RecentPlaces {
  private static let half = 1 << 18
  private var young: Set<UInt64> = []
  private var old: Set<UInt64> = []

  /// Inserts a place; returns false if the set has it already.
  mutating func insert(_ place: Location) -> Bool {
    let key = place.key
    if young.contains(key) { return false }
    let isNew = !old.contains(key)
    if young.count >= Self.half {
      old = young
      young = Set(minimumCapacity: Self.half)
    }
    young.insert(key)
    return isNew
  }

  func contains(_ place: Location) -> Bool { young.contains(place.key) || old.contains(place.key) }
}

extension Location {
  /// A number for the place, in the order of segments and offsets.
  var key: UInt64 { UInt64(segment) << 40 | offset }
}
