package import LLVSCore
import Platform

// After a failed sync the kernel's unwritten pages are unknown, and it does not write them again. So the files are
// abandoned: `renew` reads back what is pending, checks it, and writes it again.

extension Journal {
  /// The pause after a disk refused a renewal.
  struct Retry {
    private static let shortest: UInt64 = 1_000_000_000
    private static let longest: UInt64 = 4_000_000_000
    private var notBefore: UInt64 = 0
    private var pause = Retry.shortest
    var isTime: Bool { SystemClock.monotonic() >= notBefore }

    mutating func failed() {
      notBefore = SystemClock.monotonic() &+ pause
      pause = min(2 * pause, Self.longest)
    }
  }

  /// Brings everything that was appended, and the bytes that it names, to the disk.
  ///
  /// - Throws: ``StoreError/system(_:)``, from a failed sync until a renewal succeeds.
  /// - Concurrency: one thread syncs at a time, for all that wait.
  package func sync() throws(StoreError) {
    enum Step {
      case done
      case sync(SyncWork)
    }
    let target = state.withLock { $0.appended }
    while true {
      let step = try state.wait { s throws(StoreError) -> Step? in
        if s.durable >= target { return .done }
        switch s.phase {
        case .stopped(let stop): throw stop.error
        case .syncing, .renewing: return nil
        case .open:
          s.phase = .syncing
          return .sync(
            SyncWork(
              file: s.file.file, number: s.file.number, end: s.file.end, appended: s.appended))
        }
      }
      guard case .sync(let work)? = step else { return }
      try sync(work)
    }
  }

  /// Asks the system to begin to write what no sync covers.
  package func startWriteback() {
    let current = state.withLock { $0.durable < $0.appended ? $0.file : nil }
    if let current { current.file.startWriteback(0..<current.end) }
    files.startWriteback()
  }

  /// As ``sync()``, unless only records of cuts that took nothing are unsynced.
  package func syncChanges() throws(StoreError) {
    if state.withLock({ $0.durable < $0.changed }) { try sync() }
  }

  struct SyncWork {
    var file: File
    var number: UInt32
    var end: UInt64
    var appended: UInt64
  }

  private func sync(_ work: SyncWork) throws(StoreError) {
    let staging = files.takeUnsynced()
    do throws(SystemError) {
      for file in staging.values { try file.syncData() }
      try work.file.syncData()
    } catch {
      // The state of the other files is unknown, too.
      fail(error, givingUp: Set(staging.keys))
      throw .system(error)
    }
    state.withLock { s in
      let count = work.appended - min(work.appended, s.durable)
      s.durable = max(s.durable, work.appended)
      guard case .syncing = s.phase else { return }
      s.phase = .open
      let isAllDurable = s.durable == s.appended
      // In a series of syncs the next record carries the mark, which saves a write.
      let isInSeries = s.file.synced(to: work.end, count, at: SystemClock.monotonic())
      guard !isInSeries else { return }
      if (try? write(isFreeing: true, &s)) != nil, isAllDurable { s.durable = s.appended }
    }
    state.broadcast()
  }

  /// Abandons files, and the journal file, after a failed sync.
  func fail(_ error: SystemError, givingUp numbers: Set<UInt32>) {
    let isFirst = state.withLock { s in
      files.giveUp(numbers.union([s.file.number]))
      defer {
        stop(error, &s)
        s.retry = Retry()
      }
      if case .failed? = s.phase.stop { return false }
      return true
    }
    state.broadcast()
    if isFirst { report(Self.refusal(after: error)) }
  }

  private static func refusal(after error: SystemError) -> String {
    "\(error): the disk may lack some of what was written. Pending changes are being written again; "
      + "until that has succeeded the mount is read-only"
  }

  /// The reason that nothing is recorded, as a message; nil if it is.
  package var refusal: String? {
    switch state.withLock({ $0.phase.stop }) {
    case nil: nil
    case .read?: "the mount is read-only until the disk accepts writes again"
    case .failed(let error)?: Self.refusal(after: error)
    }
  }

  /// True if the journal is stopped and ``renew(isForced:afterFailure:_:adopt:)`` may be tried, also while it runs.
  package var awaitsRenewal: Bool {
    state.withLock { s in
      guard s.phase.stop != nil else { return false }
      if case .owed = s.cut { return false }
      return s.retry.isTime
    }
  }

  /// True if appended bytes are not on the disk.
  package var hasUnsynced: Bool { state.withLock { $0.durable < $0.appended } }
}
