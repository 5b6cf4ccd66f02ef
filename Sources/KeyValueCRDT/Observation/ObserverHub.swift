internal import Dispatch
internal import SQLite
internal import Synchronization

/// Notifies a writer's observers of commits by this and other processes.
/// Observers run on the committing thread with the writer's gate held, so they must do little.
final class ObserverHub: Sendable {
  typealias Observer = @Sendable (Change, Connection) -> Void

  private struct State {
    var observers: [Int: Observer] = [:]
    var next = 0
    var timer: (any DispatchSourceTimer)?
    /// The last result of ``SQLite/Database/dataVersion()``.
    var dataVersion: Int64?
  }

  // Acquired after the writer's gate.
  private let state = Mutex(State())
  /// The longest time until a change by another process is noticed.
  private static let interval = DispatchTimeInterval.milliseconds(400)

  func committed(_ change: Change, on connection: Connection) {
    let observers = state.withLock { Array($0.observers.values) }
    for observer in observers { observer(change, connection) }
  }

  /// Adds an observer until the result is cancelled, and watches for changes by other processes.
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
    // The observer's objects are freed here, outside of the lock.
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

  private func look(_ writer: DatabaseWriter) {
    writer.writing.gate.locked {
      // A file that cannot be read now is checked again soon.
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
  static let unknown = Change(isUnknown: true, isAny: true)
}
