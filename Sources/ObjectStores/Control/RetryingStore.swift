internal import Platform
internal import Synchronization

/// A remote that repeats failed requests and limits concurrent ones.
/// A get that is interrupted continues after the received bytes, so objects must be immutable or hash-checked.
package final class RetryingStore: ObjectStore {
  private let base: any ObjectStore
  private let limits: RemoteLimits
  private let control: TransferControl
  private let free: Monitor<Int>
  /// True once a request has succeeded.
  private let hasAnswered = Atomic<Bool>(false)
  /// An attempt that transfers this many bytes resets the count of failures.
  private static let progress: UInt64 = 1 << 20

  package init(_ base: any ObjectStore, limits: RemoteLimits = .init(), control: TransferControl) {
    self.base = base
    self.limits = limits
    self.control = control
    free = Monitor(max(1, limits.requests))
  }

  package var capabilities: StoreCapabilities { base.capabilities }
  package var serverTime: Int64? { base.serverTime }

  package func prepare(_ folders: [String]) throws(RemoteError) {
    try attempt { (_) throws(RemoteError) in try base.prepare(folders) }
  }

  package func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    try attempt { (_) throws(RemoteError) in try base.list(prefix, after: after, page: page) }
  }

  package func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    var done: UInt64 = 0
    var failures = 0
    while true {
      let before = done
      do throws(RemoteError) {
        let rest: Range<UInt64>?
        if let range {
          guard done < range.length || range.isEmpty else { return done }
          rest = (range.lowerBound + done)..<range.upperBound
        } else {
          rest = done == 0 ? nil : done..<UInt64.max
        }
        return try taken { () throws(RemoteError) in
          try base.get(name, range: rest) { (piece) throws(RemoteError) in
            done += UInt64(piece.count)
            return try sink(piece)
          }
          return done
        }
      } catch {
        if done - before >= Self.progress { failures = 0 }
        try wait(after: error, &failures)
      }
    }
  }

  package func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    try attempt { (_) throws(RemoteError) in try base.put(name, body) }
  }

  package func delete(_ name: ObjectName) throws(RemoteError) {
    try attempt { (_) throws(RemoteError) in try base.delete(name) }
  }

  package func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    try attempt { (isAgain) throws(RemoteError) in
      do throws(RemoteError) {
        try base.move(name, to: target)
      } catch {
        // The answer to an attempt may have been lost after the object was moved.
        guard isAgain, error.kind == .absent, try isThere(target) else { throw error }
      }
    }
  }

  package func ownStaging(scratch: String) throws(RemoteError) -> (any ObjectStaging)? {
    try base.ownStaging(scratch: scratch)
  }

  private func isThere(_ name: ObjectName) throws(RemoteError) -> Bool {
    guard let prefix = ObjectPrefix(name.text) else { return false }
    return try base.all(prefix).contains { $0.name == name }
  }

  private func attempt<Result>(
    _ body: (_ isAgain: Bool) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    var failures = 0
    while true {
      do throws(RemoteError) {
        return try taken { () throws(RemoteError) in try body(failures > 0) }
      } catch {
        try wait(after: error, &failures)
      }
    }
  }

  /// Waits for the next attempt; throws the error if there is none.
  private func wait(after error: RemoteError, _ failures: inout Int) throws(RemoteError) {
    failures += 1
    // A server that never answered costs one time limit, not one for each attempt.
    let isSilent = error.kind == .stalled && !hasAnswered.load(ordering: .relaxed)
    guard error.isTransient, !isSilent, failures < limits.attempts, !control.isCancelled else {
      throw control.isCancelled ? .cancelled : error
    }
    guard let asked = error.retryAfter else {
      // Random, so that clients that failed at once do not retry at once.
      let doublings = min(failures - 1, 32)
      let (grown, overflows) = limits.firstWait.multipliedReportingOverflow(by: 1 << doublings)
      let most = overflows ? limits.longestWait : min(grown, limits.longestWait)
      return try control.pause(nanoseconds: UInt64.random(in: 0...most))
    }
    // A server that demands a longer wait gets no retry. One that begins so is being maintained: it is away.
    let most =
      hasAnswered.load(ordering: .relaxed)
      ? limits.longestRetryAfter : min(limits.longestRetryAfter, limits.longestFirstRetryAfter)
    guard asked <= most else {
      let pause = "; it asks to be left alone for \(asked / 1_000_000_000) seconds"
      throw RemoteError(
        error.kind, error.words + pause, object: error.object, status: error.status,
        isTransient: true, retryAfter: asked)
    }
    try control.pause(nanoseconds: asked)
  }

  private func taken<Result>(
    _ body: () throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    while true {
      try control.check()
      let isMine: Bool? = free.wait(nanoseconds: TransferControl.patience) { free in
        guard free > 0 else { return nil }
        free -= 1
        return true
      }
      if isMine != nil { break }
    }
    defer {
      free.withLock { $0 += 1 }
      free.signal()
    }
    let result = try body()
    hasAnswered.store(true, ordering: .relaxed)
    return result
  }
}
