/// The last values of pairs of a place and a process: at least ``limit``, at most twice as many.
struct RecentPairs<Place: Hashable, Value> {
  static var limit: Int { 20_480 }
  private typealias Table = [Place: Values]

  /// The values of a place by process: most places have few, and a dictionary for each takes longer than the call.
  private struct Values {
    private static var fewest: Int { 16 }
    private var first: (process: Int32, value: Value)
    private var few: [(process: Int32, value: Value)] = []
    /// The others, once there are more than a few.
    private var many: [Int32: Value] = [:]

    init(_ value: Value, of process: Int32) { first = (process, value) }

    var count: Int { 1 + few.count + many.count }

    var all: [Int32: Value] {
      var all = many
      for (process, value) in few { all[process] = value }
      all[first.process] = first.value
      return all
    }

    subscript(process: Int32) -> Value? {
      if first.process == process { return first.value }
      return few.first { $0.process == process }?.value ?? (many.isEmpty ? nil : many[process])
    }

    /// Returns true if the process had no value.
    mutating func set(_ value: Value, of process: Int32) -> Bool {
      if first.process == process {
        first.value = value
      } else if let index = few.firstIndex(where: { $0.process == process }) {
        few[index].value = value
      } else if !many.isEmpty || few.count >= Self.fewest {
        return many.updateValue(value, forKey: process) == nil
      } else {
        few.append((process, value))
        return true
      }
      return false
    }

    /// Returns the values without that of a process; nil if none is left.
    func without(_ process: Int32) -> Values? {
      var left: Values?
      for (other, value) in all where other != process {
        if left?.set(value, of: other) == nil { left = Values(value, of: other) }
      }
      return left
    }
  }

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
    guard let old = older[place] else { return recent[place]?.all ?? [:] }
    return old.all.merging(recent[place]?.all ?? [:]) { $1 }
  }

  mutating func set(_ value: Value, _ process: Int32, at place: Place) {
    if recentCount >= Self.limit, recent[place]?[process] == nil {
      (older, recent, recentCount) = (recent, [:], 0)
    }
    if let isNew = recent[place]?.set(value, of: process) {
      if isNew { recentCount += 1 }
    } else {
      recent[place] = Values(value, of: process)
      recentCount += 1
    }
  }

  @discardableResult
  mutating func remove(_ process: Int32, at place: Place) -> Value? {
    let new = Self.remove(process, at: place, from: &recent)
    if new != nil { recentCount -= 1 }
    let old = Self.remove(process, at: place, from: &older)
    return new ?? old
  }

  private static func remove(
    _ process: Int32, at place: Place, from table: inout Table
  ) -> Value? {
    guard let values = table[place], let value = values[process] else { return nil }
    table[place] = values.without(process)
    return value
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
      for values in table.values { for (process, value) in values.all { body(process, value) } }
    }
  }
}
