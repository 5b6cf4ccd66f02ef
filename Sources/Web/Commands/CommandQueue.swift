import Control
import Grammar
import Platform
private import Synchronization

/// Runs one command of the page at a time, and reports its progress.
/// - Concurrency: any thread; its lock is a leaf.
final class CommandQueue: Sendable {
  private struct Running {
    var id: Int
    var title: String
    var progress = CommandProgress("", done: 0, total: 0)
    /// On the monotonic clock, in nanoseconds.
    var begin: UInt64
  }

  private struct Ended {
    var id: Int
    var title: String
    var isDone: Bool
    var reply: String
  }

  private struct State {
    var count = 0
    var running: Running?
    var ended: Ended?
    var isClosed = false
  }

  private let pool: WorkerPool
  private let state = Monitor(State())
  private let isCancelled = Atomic<Bool>(false)
  init(pool: WorkerPool) { self.pool = pool }

  /// Starts a command on another thread and returns its number; ``ControlError`` busy while one runs.
  func start(
    _ title: String, _ body: @escaping @Sendable (CommandContext) throws(ControlError) -> String
  ) throws(ControlError) -> Int {
    let id = try state.withLock { (state) throws(ControlError) -> Int in
      guard state.running == nil, !state.isClosed else {
        throw ControlError(.busy, "\(state.running?.title ?? "the end") is under way")
      }
      state.count += 1
      state.running = Running(
        id: state.count, title: title, begin: SystemClock.monotonic())
      return state.count
    }
    isCancelled.store(false, ordering: .relaxed)
    pool.run { [self] in
      let context = CommandContext(
        isCancelled: { [self] in isCancelled.load(ordering: .relaxed) },
        progress: { [self] progress in state.withLock { $0.running?.progress = progress } })
      var ended = Ended(id: id, title: title, isDone: true, reply: "")
      do throws(ControlError) {
        ended.reply = try body(context)
      } catch {
        ended.isDone = false
        ended.reply = error.reply.json
      }
      state.withLock { state in
        state.running = nil
        state.ended = ended
      }
      state.broadcast()
    }
    return id
  }

  func cancel() { isCancelled.store(true, ordering: .relaxed) }

  /// Refuses further commands, and waits for the end of a running one.
  func close() {
    state.withLock { $0.isClosed = true }
    cancel()
    _ = state.wait { state -> Bool? in state.running == nil ? true : nil }
  }

  var json: String {
    state.withLock { state in
      let running = state.running.map { now -> ReplyValue in
        [
          "id": now.id, "title": now.title, "what": now.progress.what, "done": now.progress.done,
          "total": now.progress.total, "steps": now.progress.steps,
          "seconds": (SystemClock.monotonic() - now.begin) / 1_000_000_000,
        ]
      }.reply.json
      guard let last = state.ended else { return "\"running\":\(running),\"ended\":null" }
      let ended: ReplyValue = ["id": last.id, "title": last.title, "isDone": last.isDone]
      return "\"running\":\(running),\"ended\":\(ended.json.dropLast()),\"reply\":\(last.reply)}"
    }
  }
}
