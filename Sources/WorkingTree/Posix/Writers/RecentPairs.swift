/// Values of pairs of a place and a process, of which the last ones are kept: at least ``limit``, at most twice as many.
struct RecentPairs<Place: Hashable, Value> {
  /// The number of pairs that are kept for certain.
  static var limit: Int { 20_480 }

  private typealias Table = [Place: [Int32: Value]]

  private var recent: Table = [:]
  private var older: Table = [:]
  private var recentCount = 0

  /// True if there is no pair.
  var isEmpty: Bool { recent.isEmpty && older.isEmpty }

  /// The number of pairs, those that are stored twice counted twice.
  var count: Int { recentCount + older.values.reduce(0) { $0 + $1.count } }

  /// Returns the value of a pair.
  func value(_ process: Int32, at place: Place) -> Value? {
    recent[place]?[process] ?? older[place]?[process]
  }

  /// Returns the values of all pairs of a place, by the processes.
  func values(at place: Place) -> [Int32: Value] {
    guard let old = older[place] else { return recent[place] ?? [:] }
    return old.merging(recent[place] ?? [:]) { $1 }
  }

  /// Sets the value of a pair.
  mutating func set(_ value: Value, _ process: Int32, at place: Place) {
    if recentCount >= Self.limit, recent[place]?[process] == nil {
      (older, recent, recentCount) = (recent, [:], 0)
    }
    if recent[place, default: [:]].updateValue(value, forKey: process) == nil { recentCount += 1 }
  }

  /// Removes a pair and returns its value.
  @discardableResult
  mutating func remove(_ process: Int32, at place: Place) -> Value? {
    let new = recent[place]?.removeValue(forKey: process)
    if new != nil {
      recentCount -= 1
      if recent[place]?.isEmpty ?? false { recent[place] = nil }
    }
    let old = older[place]?.removeValue(forKey: process)
    if older[place]?.isEmpty ?? false { older[place] = nil }
    return new ?? old
  }

  /// Removes all pairs of a place.
  mutating func removeAll(at place: Place) {
    recentCount -= recent.removeValue(forKey: place)?.count ?? 0
    older[place] = nil
  }

  /// The places of all pairs.
  var places: Set<Place> { Set(recent.keys).union(older.keys) }

  /// Moves the pairs of places for which a closure returns another place there.
  mutating func move(_ other: (Place) -> Place?) {
    for place in places {
      guard let new = other(place) else { continue }
      let values = values(at: place)
      removeAll(at: place)
      for (process, value) in values { set(value, process, at: new) }
    }
  }

  /// Calls a closure with each pair.
  func forEach(_ body: (_ process: Int32, _ value: Value) -> Void) {
    for table in [older, recent] {
      for values in table.values { for (process, value) in values { body(process, value) } }
    }
  }
}
