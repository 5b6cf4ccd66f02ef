package import Grammar
import LLVSCore
package import Platform
private import Synchronization
import TreeNames
import WorkingTree

// An open handle of the control file: docs/control-file.md, rules 1 to 6. Its commands run one by one on the pool;
// no caller of these methods waits for them. The lock is a leaf, held for memory alone.

/// An open control file: takes commands and returns their replies.
/// - Concurrency: any thread.
package final class ControlSession: Sendable {
  package final class Pending: Sendable {
    private let flag = Atomic<Bool>(false)
    private let isAnswered = Atomic<Bool>(false)
    private let pool: WorkerPool
    private let completion: @Sendable (Result<Int, ControlError>) -> Void
    /// The longest time for a command to end by itself, in nanoseconds; nothing else ends the caller's call.
    private static let patience: UInt64 = 700_000_000

    init(
      _ pool: WorkerPool, _ completion: @escaping @Sendable (Result<Int, ControlError>) -> Void
    ) {
      self.pool = pool
      self.completion = completion
    }

    /// Ends the running commands with EINTR; a command in a long system call ends later, but is answered now.
    package func cancel() {
      guard !flag.exchange(true, ordering: .relaxed) else { return }
      pool.run { [self] in
        let end = SystemClock.monotonic() + Self.patience
        while SystemClock.monotonic() < end, !isAnswered.load(ordering: .relaxed) {
          SystemClock.sleep(nanoseconds: 20_000_000)
        }
        answer(.failure(ControlError(.interrupted, "interrupted")))
      }
    }

    func answer(_ result: Result<Int, ControlError>) {
      guard !isAnswered.exchange(true, ordering: .acquiringAndReleasing) else { return }
      completion(result)
    }

    var isCancelled: Bool { flag.load(ordering: .relaxed) }
  }

  private struct Job: Sendable {
    var text: [UInt8]
    var pending: Pending
  }

  private struct State {
    var jobs: [Job] = []
    var isRunning = false
    /// True until the reply of a failed command is read; commands are refused until then.
    var hasFailed = false
    /// The replies to the commands of this handle; nil before the first command.
    var reply: [UInt8]?
    /// The reply was read, so the next command starts a new one.
    var isRead = false
    /// The offset in the file where the reply, or the status, begins.
    var base: UInt64?
    var status: [UInt8] = []
  }

  private static let replyLimit = 1 << 20
  private let service: ControlService
  private let pool: WorkerPool
  private let progress: @Sendable (CommandProgress) -> Void
  private let state = Monitor(State())
  private let handle = VersionHolds.Handle()

  package init(
    _ service: ControlService, pool: WorkerPool,
    progress: @escaping @Sendable (CommandProgress) -> Void = { _ in }
  ) {
    self.service = service
    self.pool = pool
    self.progress = progress
  }

  /// Ends the handle's hold when its last descriptor is closed.
  package func close() { service.holds.end(of: handle) }

  /// Runs the commands of one write; `completion` gets the number of accepted bytes on another thread.
  @discardableResult
  package func write(
    _ text: [UInt8], completion: @escaping @Sendable (Result<Int, ControlError>) -> Void
  ) -> Pending {
    let pending = Pending(pool, completion)
    let starts = state.withLock { state -> Bool in
      state.jobs.append(Job(text: text, pending: pending))
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if starts { pool.run { [self] in work() } }
    return pending
  }

  private func work() {
    while true {
      let job = state.withLock { state -> Job? in
        guard !state.jobs.isEmpty else {
          state.isRunning = false
          return nil
        }
        return state.jobs.removeFirst()
      }
      guard let job else { return }
      job.pending.answer(run(job))
    }
  }

  private func run(_ job: Job) -> Result<Int, ControlError> {
    let isRefused = state.withLock { state -> Bool in
      if state.hasFailed { return true }
      // A reply that was read is no longer needed.
      if state.isRead || state.reply == nil { state.reply = [] }
      state.isRead = false
      state.base = nil
      return false
    }
    if isRefused {
      return .failure(
        ControlError(.refused, "an earlier command failed and its reply was not read"))
    }
    do throws(ControlError) {
      var script = try ControlScript(job.text)
      while let command = try next(&script) {
        // Finished commands stay finished: only the rest is interrupted.
        if job.pending.isCancelled { throw ControlError(.interrupted, "interrupted") }
        try run(command, inJSON: script.isForPrograms, job.pending)
      }
      return .success(job.text.count)
    } catch {
      return .failure(error)
    }
  }

  private func next(_ script: inout ControlScript) throws(ControlError) -> (any Command)? {
    do throws(ControlError) {
      guard let words = try script.next() else { return nil }
      return try Commands.parse(words)
    } catch {
      service.recordFailure(of: nil, error)
      fail(error, nil, inJSON: script.isForPrograms)
      throw error
    }
  }

  private func run(_ command: any Command, inJSON: Bool, _ pending: Pending) throws(ControlError) {
    var context = CommandContext(isCancelled: { pending.isCancelled }, progress: progress)
    context.handle = handle
    do throws(ControlError) {
      // A mount may be idle for days after a sync. After a version PendingSync gives memory back.
      defer {
        if command.effect != .query, !(command is CommitCommand) {
          service.store.contents.releaseMemory()
        }
      }
      let result = try service.run(command, context: context)
      guard !inJSON else { return say(result.json + "\n") }
      say((command.effect == .query ? result.text : ControlReply.done(result.text).text) + "\n")
    } catch {
      fail(error, command.title, inJSON: inJSON)
      throw error
    }
  }

  private func fail(_ error: ControlError, _ title: String?, inJSON: Bool) {
    defer { state.withLock { $0.hasFailed = true } }
    guard !inJSON else { return say(error.reply.json + "\n") }
    let message = (title.map { "\($0): " } ?? "") + PrintableText.harmless(error.message)
    say(ControlReply.failed(message).text + "\n")
    guard let done = error.done?.text, !done.isEmpty else { return }
    say("done: " + PrintableText.harmless(done) + "\n")
  }

  private func say(_ text: String) {
    state.withLock { state in
      var reply = state.reply ?? []
      guard reply.count < Self.replyLimit else { return }
      reply += text.utf8
      state.reply = reply
    }
  }

  /// Returns bytes of the reply, or of the status if nothing was written through this handle.
  package func read(at offset: UInt64, count: Int) throws(ControlError) -> [UInt8] {
    let known = state.withLock { state -> [UInt8]? in
      guard let reply = state.reply else { return nil }
      state.isRead = true
      state.hasFailed = false
      return Self.slice(reply, &state.base, offset, count)
    }
    if let known { return known }
    // The status is made when its first bytes are read, and does not change during further reading.
    let isFresh = state.withLock { $0.base == nil || offset <= ($0.base ?? 0) }
    if isFresh { service.tree.awaitShown() }
    let status = isFresh ? Array((try service.status().text + "\n").utf8) : nil
    return state.withLock { state in
      if let status {
        state.status = status
        state.base = nil
      }
      return Self.slice(state.status, &state.base, offset, count)
    }
  }

  private static func slice(
    _ text: [UInt8], _ base: inout UInt64?, _ offset: UInt64, _ count: Int
  ) -> [UInt8] {
    let start = base ?? offset
    base = start
    guard offset >= start, offset - start < UInt64(text.count), count > 0 else { return [] }
    let first = Int(offset - start)
    return Array(text[first..<(first + min(count, text.count - first))])
  }
}
