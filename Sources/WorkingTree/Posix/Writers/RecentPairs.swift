/// The last values of pairs of a place and a process: at least ``limit``, at most twice as many.
struct RecentPairs<Place: Hashable, Value> {
  static var limit: Int { 20_480 }
  private typealias Table = [Place: [Int32: Value]]
  private var recent: Table = [:]
  private var older: Table = [:]
  private var recentCount = 0
  var isEmpty: Bool { recent.isEmpty && older.isEmpty }
  /// The number of pairs; pairs that are stored twice count twice.
  var count: Int { recentCount + older.values.reduce(0) { $0 + $1.count } }

  func value(_ process: Int32, at place: Place) -> Value? {
    recent[place]?[process] ?? older[place]?[process]
  }

  func values(at place: Place) -> [Int32: Value] {
    guard let old = older[place] else { return recent[place] ?? [:] }
    return old.merging(recent[place] ?? [:]) { $1 }
  }

  mutating func set(_ value: Value, _ process: Int32, at place: Place) {
    if recentCount >= Self.limit, recent[place]?[process] == nil {
      (older, recent, recentCount) = (recent, [:], 0)
    }
    if recent[place, default: [:]].updateValue(value, forKey: process) == nil { recentCount += 1 }
  }

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

  mutating func removeAll(at place: Place) {
    recentCount -= recent.removeValue(forKey: place)?.count ?? 0
    older[place] = nil
  }

  var places: Set<Place> { Set(recent.keys).union(older.keys) }

  mutating func move(_ other: (Place) -> Place?) {
    for place in places {
      guard let new = other(place) else { continue }
      let values = values(at: place)
      removeAll(at: place)
      for (process, value) in values { set(value, process, at: new) }
    }
  }

  func forEach(_ body: (_ process: Int32, _ value: Value) -> Void) {
    for table in [older, recent] {
      for values in table.values { for (process, value) in values { body(process, value) } }
    }
  }
}
