// The threads that take requests from the kernel.
//
// The kernel wakes the threads that wait for requests in turn. With several waiting, each request of
// a single program wakes a thread that last ran long ago, often on another processor; measured, a
// round trip then takes two to three times as long as with one thread. So one thread waits, answers
// what it took and waits again; others sleep until they are needed, which a warden finds out:
//
// - at every tick while there are requests: if one is pending, nobody waits for it and none was
//   taken since the last tick (the thread that should is held up in a handler), another is called;
//   so it is when there is one pending at several ticks in a row (more than one thread can answer);
// - a handler that knows that it will take long says so beforehand (`aboutToBlock`). Where all requests
//   have come from one thread for a while, and that thread waits for this answer, nobody is called: to wake
//   two threads for each fsync(2) takes longer than a disk. Whoever comes all the same waits for a tick.
//
// A thread that was called goes back to sleep when, after a request, another waits and nothing is
// pending. An unforeseen delay of one handler holds up others for a tick or two.
//
// To wake a sleeping processor costs more than the rest of a round trip. So the warden also
//
// - keeps the thread that answers on the processor of the program that asks, as long as one is enough:
//   the one sleeps while the other works. Not while the kernel reads ahead, which shows in large READs:
//   there the program goes on meanwhile, and both would wait for a single processor;
// - keeps all processors from sleeping deeply while requests come in a stream (`RequestRate`), or, where this
//   process may not, has the thread that waits look out for the next one for a moment (`AdaptiveSpin`).
//
// `waiting` is raised by whoever calls a thread, so that none is called twice for one need. The
// monitors' locks are held for counting only, and one is not taken inside the other.

import CFuse3
import CShims
import Glibc
import Platform
import Synchronization

final class RequestLoop: Sendable {
  private struct State {
    var threads = 0
    var sleeping = 0
    /// Calls that no sleeping thread has answered yet.
    var calls = 0
    var isOver = false
    var error: Int32 = 0
  }

  private struct Watch {
    var isAsleep = true
    var isOver = false
  }

  /// How long the warden lets a request wait that nobody takes, in microseconds.
  private static let tick: UInt32 = 500
  /// At how many ticks in a row a request must be found pending, although requests are being taken,
  /// for another thread to be called: single programs leave one pending now and then.
  private static let overloadTicks = 6
  /// After how many ticks without a request it goes to sleep.
  private static let quietTicks = 20
  /// A READ of so many bytes is the kernel's reading ahead, or as good as that: to copy them takes as long
  /// as to wake a processor up.
  private static let largeRead: UInt32 = 64 << 10
  /// After how many requests of one thread in a row no others are expected while it waits.
  private static let aloneRequests = 64

  private let session: SessionPointer
  private let descriptor: Int32
  private let privileges: PrivilegeAgreement
  private let mostThreads: Int
  private let staysAwake: Bool
  private let monitor = Monitor(State())
  /// Its own, so that whoever is called is not woken together with the warden, or the warden with him.
  private let watchMonitor = Monitor(Watch())
  /// How many threads wait for a request, or are on their way to.
  private let waiting = Atomic<Int>(0)
  private let taken = Atomic<UInt64>(0)
  /// Who made the last request, and the thread that took it.
  private let caller = Atomic<Int32>(0)
  private let taker = Atomic<Int32>(0)
  /// How many requests that thread has made since another one's.
  private let alone = Atomic<Int>(0)
  /// Whether there was a large READ since the last tick.
  private let readsAhead = Atomic<Bool>(false)
  private let wardenSleeps = Atomic<Bool>(true)
  /// Whether the thread that waits looks out for requests.
  private let looksOut = Atomic<Bool>(false)
  /// Whether it is on the processor of the program that asks, which does not ask while it looks out.
  private let isPlaced = Atomic<Bool>(false)

  init(_ session: SessionPointer, _ box: SessionBox) {
    privileges = box.privileges
    let options = box.connection
    self.session = session
    unsafe descriptor = fuse_session_fd(session.raw)
    mostThreads = max(1, Int(clamping: options.threads))
    // A program and who answers it take turns on a single processor: it is never idle.
    staysAwake = options.staysAwake && llvs_processor_count() > 1
  }

  /// Serves until the kernel has no more requests; returns 0 or an errno.
  func run() throws(SystemError) -> Int32 {
    let warden = try SystemThread(name: "llvs-warden") { [self] in watch() }
    monitor.withLock { $0.threads = 1 }
    waiting.add(1, ordering: .sequentiallyConsistent)
    do throws(SystemError) {
      // Never the caller's own thread: it would come back bound to a processor.
      try SystemThread(name: "llvs-fuse") { [self] in serve() }.join()
    } catch {
      monitor.withLock { $0.threads = 0 }
      end(-EAGAIN)
    }
    warden.join()
    // The threads are detached; the session may go only when the last has left it.
    return monitor.wait { $0.threads == 0 ? $0.error : nil } ?? 0
  }

  /// Has another thread wait for requests if none does and others may come; called by a handler that will
  /// take long.
  func aboutToBlock() {
    guard alone.load(ordering: .relaxed) < Self.aloneRequests else { return }
    if waiting.load(ordering: .sequentiallyConsistent) == 0 { call() }
  }

  /// The life of one thread; it starts as one that waits.
  private func serve() {
    var buffer = unsafe fuse_buf()
    let thread = llvs_thread_id()
    var lookout = AdaptiveSpin()
    while unsafe take(&buffer, &lookout) {
      unsafe look(at: buffer, thread)
      unsafe fuse_session_process_buf(session.raw, &buffer)
      if !goesOn() { break }
    }
    unsafe free(buffer.mem)
    monitor.withLock { $0.threads -= 1 }
    monitor.broadcast()
  }

  /// Reads what a request says that libfuse does not pass on.
  private func look(at buffer: fuse_buf, _ thread: Int32) {
    taker.store(thread, ordering: .relaxed)
    guard unsafe buffer.size >= MemoryLayout<fuse_in_header>.size else { return }
    let request = unsafe UnsafeMutableRawBufferPointer(start: buffer.mem, count: buffer.size)
    let header = unsafe request.loadUnaligned(as: fuse_in_header.self)
    note(Int32(bitPattern: header.pid), header.opcode)
    if unsafe Self.isLargeRead(header, request) { readsAhead.store(true, ordering: .relaxed) }
    unsafe privileges.prepare(request)
  }

  /// Notes who asks.
  private func note(_ thread: Int32, _ opcode: UInt32) {
    switch opcode {
    case FUSE_FORGET.rawValue, FUSE_BATCH_FORGET.rawValue, FUSE_RELEASE.rawValue,
      FUSE_RELEASEDIR.rawValue:
      // Nobody waits for these, and the kernel does not say whose they are.
      return
    default: break
    }
    // Those of another PID namespace all have the number 0.
    let isSame = thread > 0 && caller.load(ordering: .relaxed) == thread
    alone.store(isSame ? alone.load(ordering: .relaxed) &+ 1 : 0, ordering: .relaxed)
    if !isSame { caller.store(thread, ordering: .relaxed) }
  }

  private static func isLargeRead(
    _ header: fuse_in_header, _ request: UnsafeMutableRawBufferPointer
  ) -> Bool {
    let body = MemoryLayout<fuse_in_header>.size
    guard header.opcode == FUSE_READ.rawValue,
      unsafe request.count >= body + MemoryLayout<fuse_read_in>.size
    else { return false }
    return unsafe request.loadUnaligned(fromByteOffset: body, as: fuse_read_in.self).size
      >= largeRead
  }

  /// Waits for a request; returns false at the end.
  private func take(_ buffer: inout fuse_buf, _ lookout: inout AdaptiveSpin) -> Bool {
    // Others that wait are woken by the kernel: one who looks out is enough.
    if looksOut.load(ordering: .relaxed), !isPlaced.load(ordering: .relaxed),
      waiting.load(ordering: .relaxed) == 1
    {
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

  /// Decides, after a request, between waiting for the next and sleeping; false at the end.
  private func goesOn() -> Bool {
    if waiting.load(ordering: .sequentiallyConsistent) == 0 || isPending {
      waiting.add(1, ordering: .sequentiallyConsistent)
      return true
    }
    monitor.withLock { $0.sleeping += 1 }
    let goesOn: Bool? = monitor.wait { state in
      guard state.calls > 0 || state.isOver else { return nil }
      state.sleeping -= 1
      // Whoever called has counted this thread as waiting.
      if state.calls > 0 { state.calls -= 1 }
      return !state.isOver
    }
    return goesOn ?? false
  }

  private var isPending: Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe Glibc.poll(&poll, 1, 0) > 0 && poll.revents & Int16(POLLIN) != 0
  }

  /// Has one more thread wait for requests.
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
        // Those that there are go on; the next need tries again.
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
    // Threads that wait in the kernel for requests see the end by themselves: it is the same for all.
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

  /// The life of the warden.
  private func watch() {
    var lastTaken: UInt64 = 0
    var quiet = 0
    var unattended = 0
    var placement = CPUAffinity(model: getpid())
    var pace = RequestRate()
    var latency = ProcessorLatency()
    defer { placement.end() }
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
          placement.end()
          call()
          unattended = 0
        }
      } else {
        unattended = 0
      }
      let isIdle = now == lastTaken && waiting.load(ordering: .sequentiallyConsistent) > 0
      quiet = isIdle ? quiet + 1 : 0
      if readsAhead.exchange(false, ordering: .relaxed) {
        placement.end()
      } else if now != lastTaken {
        placement.follow(
          caller.load(ordering: .relaxed), with: taker.load(ordering: .relaxed))
      }
      isPlaced.store(placement.isMade, ordering: .relaxed)
      lastTaken = now
      if staysAwake, pace.note(now, at: SystemClock.monotonic()) {
        stayAwake(pace.isStream, &latency)
      }
      if quiet >= Self.quietTicks {
        quiet = 0
        placement.end()
        isPlaced.store(false, ordering: .relaxed)
        if pace.pause() { stayAwake(false, &latency) }
        watchMonitor.withLock { watch in
          watch.isAsleep = true
          wardenSleeps.store(true, ordering: .sequentiallyConsistent)
        }
        // A request that came before the flag was up has not woken anybody.
        if taken.load(ordering: .sequentiallyConsistent) != lastTaken { wakeWarden() }
      }
    }
  }
}
