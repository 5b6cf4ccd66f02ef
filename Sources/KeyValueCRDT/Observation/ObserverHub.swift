internal import Dispatch
internal import SQLite
internal import Synchronization

/// Tells observers of a writer what was committed, by this program or by others.
///
/// Observers are told after the commit, on the thread that has committed, with the writer's gate held: what
/// they do there is little, or a matter of their own queue.
final class ObserverHub: Sendable {
  typealias Observer = @Sendable (Change, Connection) -> Void

  private struct State {
    var observers: [Int: Observer] = [:]
    var next = 0
    var timer: (any DispatchSourceTimer)?
    /// The last result of ``SQLite/Database/dataVersion()``.
    var dataVersion: Int64?
  }

  // Taken within the writer's gate, and never the other way round.
  private let state = Mutex(State())

  /// The longest time that a change by another process goes unnoticed.
  private static let interval = DispatchTimeInterval.milliseconds(400)

  /// Calls the observers.
  func committed(_ change: Change, on connection: Connection) {
    let observers = state.withLock { Array($0.observers.values) }
    for observer in observers { observer(change, connection) }
  }

  /// Adds an observer until the result is cancelled; other processes' changes are looked for in the meantime.
  func add(_ writer: DatabaseWriter, _ observer: @escaping Observer) -> AnyCancellable {
    let id = state.withLock { state in
      state.next += 1
      state.observers[state.next] = observer
      if state.timer == nil, !writer.isInMemory { state.timer = timer(writer) }
      return state.next
    }
    return AnyCancellable { [self] in remove(id) }
  }

  private func remove(_ id: Int) {
    let (observer, timer) = state.withLock { state in
      let observer = state.observers.removeValue(forKey: id)
      guard state.observers.isEmpty else { return (observer, nil as (any DispatchSourceTimer)?) }
      defer {
        state.timer = nil
        state.dataVersion = nil
      }
      return (observer, state.timer)
    }
    timer?.cancel()
    // It goes here, outside of the lock, with all that it holds.
    _ = observer
  }

  private func timer(_ writer: DatabaseWriter) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "KeyValueCRDT.watch"))
    timer.setEventHandler { [weak self, weak writer] in
      guard let self, let writer else { return }
      look(writer)
    }
    timer.schedule(deadline: .now(), repeating: Self.interval)
    timer.activate()
    return timer
  }

  /// Checks whether another connection has changed the file.
  private func look(_ writer: DatabaseWriter) {
    writer.writing.gate.locked {
      // A file that cannot be read now is looked at again soon.
      guard !writer.writing.sqlite.isInTransaction,
        let version = try? writer.writing.sqlite.dataVersion()
      else { return }
      let isChanged = state.withLock { state in
        guard !state.observers.isEmpty else { return false }
        defer { state.dataVersion = version }
        return state.dataVersion.map { $0 != version } ?? false
      }
      if isChanged { committed(.unknown, on: writer.writing) }
    }
  }
}

extension Change {
  /// Anything may have changed.
  static let unknown = {
    var change = Change()
    change.isUnknown = true
    change.isAny = true
    return change
  }()
}
