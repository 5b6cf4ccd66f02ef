import Platform

/// Takes note of damage that somebody met, each once, however often it is met.
///
/// - Concurrency: any thread; its lock is a leaf, and nothing is written under it.
package final class DamageReport: Sendable {
  private struct State {
    var tell: (@Sendable (String) -> Void)?
    var told: Set<String> = []
    var waiting: [String] = []
  }

  /// The most sentences that are remembered. After that all are forgotten.
  private static let limit = 4096
  private let state = Monitor(State())

  package init() {}

  /// Says who is told, also of what was met before.
  package func listen(_ tell: @escaping @Sendable (String) -> Void) {
    let waiting = state.withLock { s in
      s.tell = tell
      defer { s.waiting = [] }
      return s.waiting
    }
    for one in waiting { tell(one) }
  }

  /// Tells of something that may happen again, and is notified of each time.
  package func say(_ text: String) {
    let listener = state.withLock { s -> (@Sendable (String) -> Void)? in
      if s.tell == nil { s.waiting.append(text) }
      return s.tell
    }
    listener?(text)
  }

  /// Tells of damage, of a named file or of what no name is known of, unless that was done before; damage
  /// that was told of with a name is not told of again without one.
  package func tell(_ reason: String, of name: String? = nil) {
    let text = name.map { "\($0): \(reason)" } ?? reason
    let listener = state.withLock { s -> (@Sendable (String) -> Void)? in
      if s.told.count >= Self.limit { s.told = [] }
      guard s.told.insert(text).inserted else { return nil }
      s.told.insert(reason)
      if s.tell == nil { s.waiting.append(text) }
      return s.tell
    }
    listener?(text)
  }
}
