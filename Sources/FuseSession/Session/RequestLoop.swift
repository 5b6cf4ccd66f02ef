// The threads that take requests from the kernel.
//
// The kernel wakes waiting threads in turn. With several waiting, each request of a single program wakes a thread
// that last ran long ago, often on another processor, and a round trip takes two to three times as long. So one
// thread waits, answers and waits again. The others sleep until a warden thread finds that they are needed:
//
// - at a tick, if a request is pending, no thread waits for requests, and none was taken since the last tick; or if a
//   request is pending at several ticks in a row;
// - when a handler announces that it will take long (`aboutToBlock`). If one calling thread made all recent
//   requests and waits for this answer, no thread is woken, because that would cost more than an fsync(2).
//
// A woken thread goes back to sleep when, after a request, another thread waits and nothing is pending. Waking a
// sleeping processor costs more than the rest of a round trip. So during a stream of requests (`RequestRate`) the
// warden keeps all processors from deep sleep, or, without permission, makes the waiting thread poll for a short time
// (`AdaptiveSpin`).
//
// The thread that wakes another raises `waiting`, so that no second one is woken for the same need. The monitors' locks
// are held for counting only, and never one inside the other.

import CFuse3
import CShims
import Glibc
import Platform
import Synchronization

final class RequestLoop: Sendable {
  private struct State {
    var threads = 0
    var sleeping = 0
    /// Wake-ups that no thread has taken yet.
    var calls = 0
    var isOver = false
    var error: Int32 = 0
  }

  private struct Watch {
    var isAsleep = true
    var isOver = false
  }

  /// The time that the warden lets an untaken request wait, in microseconds.
  private static let tick: UInt32 = 500
  /// The ticks in a row with a pending request before another thread is woken; single programs leave one
  /// occasionally.
  private static let overloadTicks = 6
  /// The ticks without a request before the warden sleeps.
  private static let quietTicks = 20
  /// After this many requests in a row from one thread, other threads are not expected to make any while it waits.
  private static let aloneRequests = 64
  private let session: SessionPointer
  private let descriptor: Int32
  private let privileges: PrivilegeAgreement
  private let mostThreads: Int
  private let staysAwake: Bool
  private let monitor = Monitor(State())
  /// Separate, so that waking a thread does not wake the warden, or vice versa.
  private let watchMonitor = Monitor(Watch())
  /// The number of threads that wait for a request, or are about to.
  private let waiting = Atomic<Int>(0)
  private let taken = Atomic<UInt64>(0)
  /// The thread that made the last request.
  private let caller = Atomic<Int32>(0)
  /// The requests from `caller` since the last request from another thread.
  private let alone = Atomic<Int>(0)
  private let wardenSleeps = Atomic<Bool>(true)
  private let looksOut = Atomic<Bool>(false)

  init(_ session: SessionPointer, _ box: SessionBox) {
    privileges = box.privileges
    let options = box.connection
    self.session = session
    unsafe descriptor = fuse_session_fd(session.raw)
    mostThreads = max(1, Int(clamping: options.threads))
    // A single processor is never idle.
    staysAwake = options.staysAwake && llvs_processor_count() > 1
  }

  /// Serves until the kernel sends no more requests; returns 0 or an errno.
  func run() throws(SystemError) -> Int32 {
    let warden = try SystemThread(name: "llvs-warden") { [self] in watch() }
    monitor.withLock { $0.threads = 1 }
    waiting.add(1, ordering: .sequentiallyConsistent)
    do throws(SystemError) {
      // Signals interrupt the caller's thread.
      try SystemThread(name: "llvs-fuse") { [self] in serve() }.join()
    } catch {
      monitor.withLock { $0.threads = 0 }
      end(-EAGAIN)
    }
    warden.join()
    // The session may be destroyed only after the last thread has left it.
    return monitor.wait { $0.threads == 0 ? $0.error : nil } ?? 0
  }

  /// Wakes another thread if no thread waits for requests and others may come.
  func aboutToBlock() {
    guard alone.load(ordering: .relaxed) < Self.aloneRequests else { return }
    if waiting.load(ordering: .sequentiallyConsistent) == 0 { call() }
  }

  /// The body of one thread, which starts as a waiting one.
  private func serve() {
    var buffer = unsafe fuse_buf()
    var lookout = AdaptiveSpin()
    while unsafe take(&buffer, &lookout) {
      unsafe look(at: buffer)
      unsafe fuse_session_process_buf(session.raw, &buffer)
      if !goesOn() { break }
    }
    unsafe free(buffer.mem)
    monitor.withLock { $0.threads -= 1 }
    monitor.broadcast()
  }

  /// Reads fields that libfuse does not pass on.
  private func look(at buffer: fuse_buf) {
    guard unsafe buffer.size >= MemoryLayout<fuse_in_header>.size else { return }
    let request = unsafe UnsafeMutableRawBufferPointer(start: buffer.mem, count: buffer.size)
    let header = unsafe request.loadUnaligned(as: fuse_in_header.self)
    note(Int32(bitPattern: header.pid), header.opcode)
    unsafe privileges.prepare(request)
  }

  private func note(_ thread: Int32, _ opcode: UInt32) {
    switch opcode {
    case FUSE_FORGET.rawValue, FUSE_BATCH_FORGET.rawValue, FUSE_RELEASE.rawValue,
      FUSE_RELEASEDIR.rawValue:
      // No thread waits for these.
      return
    default: break
    }
    // Threads of another PID namespace have the number 0.
    let isSame = thread > 0 && caller.load(ordering: .relaxed) == thread
    alone.store(isSame ? alone.load(ordering: .relaxed) &+ 1 : 0, ordering: .relaxed)
    if !isSame { caller.store(thread, ordering: .relaxed) }
  }

  /// Waits for a request; returns false at the end.
  private func take(_ buffer: inout fuse_buf, _ lookout: inout AdaptiveSpin) -> Bool {
    // The kernel wakes the other waiting threads.
    if looksOut.load(ordering: .relaxed), waiting.load(ordering: .relaxed) == 1 {
      lookout.wait(clock: SystemClock.monotonic) { isPending }
    }
    var status: Int32
    repeat {
      status = unsafe fuse_session_receive_buf(session.raw, &buffer)
    } while status == -EINTR || status == -EAGAIN
    waiting.subtract(1, ordering: .sequentiallyConsistent)
    guard status > 0 else {
      end(status)
      return false
    }
    taken.add(1, ordering: .sequentiallyConsistent)
    if wardenSleeps.load(ordering: .sequentiallyConsistent) { wakeWarden() }
    return true
  }

  /// Returns true to wait for the next request, false at the end.
  private func goesOn() -> Bool {
    if waiting.load(ordering: .sequentiallyConsistent) == 0 || isPending {
      waiting.add(1, ordering: .sequentiallyConsistent)
      return true
    }
    monitor.withLock { $0.sleeping += 1 }
    let goesOn: Bool? = monitor.wait { state in
      guard state.calls > 0 || state.isOver else { return nil }
      state.sleeping -= 1
      // The waking thread has counted this one as waiting.
      if state.calls > 0 { state.calls -= 1 }
      return !state.isOver
    }
    return goesOn ?? false
  }

  private var isPending: Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe Glibc.poll(&poll, 1, 0) > 0 && poll.revents & Int16(POLLIN) != 0
  }

  private func call() {
    enum Answer { case wake, start, none }
    let answer: Answer = monitor.withLock { state in
      if state.isOver { return .none }
      if state.sleeping > state.calls {
        state.calls += 1
        waiting.add(1, ordering: .sequentiallyConsistent)
        return .wake
      }
      guard state.threads < mostThreads else { return .none }
      state.threads += 1
      waiting.add(1, ordering: .sequentiallyConsistent)
      return .start
    }
    switch answer {
    case .none: break
    case .wake: monitor.signal()
    case .start:
      do throws(SystemError) {
        try SystemThread.detach(name: "llvs-fuse") { [self] in serve() }
      } catch {
        // The next need tries again.
        waiting.subtract(1, ordering: .sequentiallyConsistent)
        monitor.withLock { $0.threads -= 1 }
      }
    }
  }

  private func end(_ status: Int32) {
    monitor.withLock { state in
      state.isOver = true
      if status < 0, state.error == 0 { state.error = -status }
    }
    // Threads that wait in the kernel notice the end themselves.
    unsafe fuse_session_exit(session.raw)
    monitor.broadcast()
    watchMonitor.withLock { $0.isOver = true }
    watchMonitor.broadcast()
  }

  private func wakeWarden() {
    watchMonitor.withLock { watch in
      watch.isAsleep = false
      wardenSleeps.store(false, ordering: .sequentiallyConsistent)
    }
    watchMonitor.broadcast()
  }

  private func stayAwake(_ isStream: Bool, _ latency: inout ProcessorLatency) {
    if isStream {
      looksOut.store(!latency.hold(), ordering: .relaxed)
    } else {
      latency.release()
      looksOut.store(false, ordering: .relaxed)
    }
  }

  private func watch() {
    var lastTaken: UInt64 = 0
    var quiet = 0
    var unattended = 0
    var pace = RequestRate()
    var latency = ProcessorLatency()
    while true {
      let isOver: Bool? = watchMonitor.wait { watch in
        watch.isOver || !watch.isAsleep ? watch.isOver : nil
      }
      if isOver ?? true { return }
      usleep(Self.tick)
      let now = taken.load(ordering: .sequentiallyConsistent)
      if waiting.load(ordering: .sequentiallyConsistent) == 0, isPending {
        unattended += 1
        if now == lastTaken || unattended >= Self.overloadTicks {
          call()
          unattended = 0
        }
      } else {
        unattended = 0
      }
      let isIdle = now == lastTaken && waiting.load(ordering: .sequentiallyConsistent) > 0
      quiet = isIdle ? quiet + 1 : 0
      lastTaken = now
      if staysAwake, pace.note(now, at: SystemClock.monotonic()) {
        stayAwake(pace.isStream, &latency)
      }
      if quiet >= Self.quietTicks {
        quiet = 0
        if pace.pause() { stayAwake(false, &latency) }
        watchMonitor.withLock { watch in
          watch.isAsleep = true
          wardenSleeps.store(true, ordering: .sequentiallyConsistent)
        }
        // A request before the flag was set has not woken the warden.
        if taken.load(ordering: .sequentiallyConsistent) != lastTaken { wakeWarden() }
      }
    }
  }
}
