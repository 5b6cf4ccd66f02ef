/// A table of the values that were set last: it forgets the oldest ones.
struct RecentTable<Value> {
  /// The least number of values that are kept; the greatest is twice that.
  let limit: Int
  private var recent: [UInt64: Value] = [:]
  private var older: [UInt64: Value] = [:]

  init(limit: Int) { self.limit = limit }

  /// The value of a number; nil if there is none.
  ///
  /// - Complexity: O(1) on average.
  subscript(number: UInt64) -> Value? {
    get { recent[number] ?? (older.isEmpty ? nil : older[number]) }
    set {
      if !older.isEmpty { older[number] = nil }
      if recent.count >= limit, newValue != nil, recent[number] == nil {
        older = recent
        recent = [:]
      }
      recent[number] = newValue
    }
  }
}
