import Platform

/// Reports each damage once.
/// - Concurrency: any thread; its lock is a leaf, and nothing is written under it.
package final class DamageReport: Sendable {
  private struct State {
    var tell: (@Sendable (String) -> Void)?
    var told: Set<String> = []
    var waiting: [String] = []
  }

  /// The most remembered sentences; then all are forgotten.
  private static let limit = 4096
  private let state = Monitor(State())

  package init() {}

  /// Sets the listener, which also receives earlier damage.
  package func listen(_ tell: @escaping @Sendable (String) -> Void) {
    let waiting = state.withLock { s in
      s.tell = tell
      defer { s.waiting = [] }
      return s.waiting
    }
    for one in waiting { tell(one) }
  }

  package func say(_ text: String) {
    let listener = state.withLock { s -> (@Sendable (String) -> Void)? in
      if s.tell == nil { s.waiting.append(text) }
      return s.tell
    }
    listener?(text)
  }

  /// Reports damage once, and not without a name after it was reported with one.
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
