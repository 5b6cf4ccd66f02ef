import Foundation
import FuseSession
import Synchronization
import Testing

@Suite("Parked replies", .serialized, .enabled(if: Mounted.isPossible, "no usable /dev/fuse"))
struct ParkedReplyTests {
  @Test("a hundred parked writes hold up nobody and are answered later", .timeLimit(.minutes(1)))
  func parkedWritesHoldNobody() throws {
    let fileSystem = MemoryFileSystem()
    // The kernel lets one writer at a time into one file.
    for index in 0..<100 { fileSystem.plantParking("control\(index)") }
    fileSystem.plant("plain", Array("plain".utf8))
    try Mounted.with(fileSystem) { mount in
      let waiting = Thread.detached {
        try? mount.shell(
          """
          python3 - <<'END'
          import os, threading
          def write(i): counts.append(os.write(os.open(f'control{i}', os.O_WRONLY), b'hello'))
          counts = []
          threads = [threading.Thread(target=write, args=[i]) for i in range(100)]
          for t in threads: t.start()
          for t in threads: t.join()
          print(counts.count(5))
          END
          """)
      }
      #expect(eventually { fileSystem.state.withLock { $0.parkedWrites.count } == 100 })
      let result = try mount.shell("cat plain; echo new > new; cat new; ls | wc -l", seconds: 5)
      #expect(result.output == "plainnew\n102\n")
      fileSystem.answerParked(Array("hello".utf8))
      #expect(waiting.value()?.output == "100\n")
    }
  }

  @Test("a signal interrupts a parked write, and only that", .timeLimit(.minutes(1)))
  func signalsInterrupt() throws {
    let fileSystem = MemoryFileSystem()
    fileSystem.plantParking("control")
    try Mounted.with(fileSystem) { mount in
      let other = Thread.detached { try? mount.shell("cat control") }
      #expect(eventually { fileSystem.state.withLock { $0.parkedReads.count } == 1 })
      let result = try mount.shell(
        """
        python3 - <<'END'
        import os, signal, errno
        class Alarm(Exception): pass
        def ring(*_): raise Alarm
        signal.signal(signal.SIGALRM, ring)
        # Tests run on threads that block signals, and processes inherit that.
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        f = os.open('control', os.O_WRONLY)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try: os.write(f, b'x'); print('answered')
        except Alarm: print('interrupted')
        END
        """)
      #expect(result.output == "interrupted\n")
      #expect(fileSystem.calls("interrupted") == 1)
      fileSystem.answerParked(Array("late".utf8))
      #expect(eventually { fileSystem.state.withLock { $0.parkedReads.count } == 1 })
      fileSystem.answerParked([])
      #expect(other.value()?.output == "late")
    }
  }

  @Test(
    "a signal that a caller goes on after interrupts nothing, and one that comes after it does",
    .timeLimit(.minutes(1)))
  func harmlessSignals() throws {
    let fileSystem = MemoryFileSystem()
    fileSystem.plantParking("control")
    try Mounted.with(fileSystem) { mount in
      let result = try mount.shell(
        """
        python3 - <<'END'
        import os, signal, time
        class Alarm(Exception): pass
        def ring(*_): raise Alarm
        signal.signal(signal.SIGALRM, ring)
        signal.signal(signal.SIGWINCH, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        f = os.open('control', os.O_WRONLY)
        signal.setitimer(signal.ITIMER_REAL, 1.5)
        parent, begun = os.getpid(), time.monotonic()
        if os.fork() == 0:
            for _ in range(3): time.sleep(0.2); os.kill(parent, signal.SIGWINCH)
            # Its end is a signal too.
            os._exit(0)
        try: os.write(f, b'x'); print('answered')
        except Alarm: print('interrupted', time.monotonic() - begun > 1.4)
        END
        """)
      #expect(result.output == "interrupted True\n")
      #expect(fileSystem.calls("interrupted") == 1)
    }
  }

  @Test("answers and interrupts at the same moment are both safe", .timeLimit(.minutes(1)))
  func interruptsRaceWithAnswers() throws {
    let fileSystem = MemoryFileSystem()
    fileSystem.plantParking("control")
    try Mounted.with(fileSystem) { mount in
      let waiting = Thread.detached {
        try? mount.shell(
          """
          for worker in 1 2 3 4; do python3 - <<'END' &
          import os, signal
          class Alarm(Exception): pass
          def ring(*_): raise Alarm
          signal.signal(signal.SIGALRM, ring)
          # Tests run on threads that block signals, and processes inherit that.
          signal.pthread_sigmask(signal.SIG_SETMASK, [])
          f = os.open('control', os.O_WRONLY)
          for i in range(200):
            try:
              signal.setitimer(signal.ITIMER_REAL, 0.0001 + (i % 20) / 10000)
              os.write(f, b'x')
              signal.setitimer(signal.ITIMER_REAL, 0)
            except Alarm: pass
          END
          done; wait; echo done
          """, seconds: 40)
      }
      while !waiting.isFinished {
        // Between the shortest and the longest time after which the program is interrupted.
        usleep(700)
        fileSystem.answerParked([0])
      }
      #expect(waiting.value()?.output.hasSuffix("done\n") == true)
    }
  }

  @Test("the end of the session interrupts what is parked", .timeLimit(.minutes(1)))
  func endInterrupts() throws {
    let fileSystem = MemoryFileSystem()
    fileSystem.plantParking("control")
    try withTemporaryDirectory { path in
      let session = try FuseSession(fileSystem, mount: MountOptions(source: "test"))
      try session.mount(at: path)
      try session.start()
      let waiting = Thread.detached { try? run("echo x > control; echo $?", in: path, seconds: 30) }
      #expect(eventually { fileSystem.state.withLock { $0.parkedWrites.count } == 1 })
      // What `umount -f` does: every request is given up and the file system is dead.
      _ = try run("umount -f '\(path)' || umount -l '\(path)'")
      session.waitUntilEnded()
      #expect(waiting.value()?.output.contains("1\n") == true)
      #expect(fileSystem.state.withLock { $0.parkedWrites.first?.take() == nil })
    }
  }
}

/// A thread whose result can be waited for.
final class Detached<Value: Sendable>: @unchecked Sendable {
  // Written before the semaphore is raised, read after.
  private var result: Value?
  private let done = DispatchSemaphore(value: 0)
  private let lock = NSLock()
  private var finished = false

  init(_ body: @escaping @Sendable () -> Value?) {
    Thread.detachNewThread { [self] in
      result = body()
      lock.withLock { finished = true }
      done.signal()
    }
  }

  var isFinished: Bool { lock.withLock { finished } }

  func value() -> Value? {
    _ = done.wait(timeout: .now() + 50)
    done.signal()
    return result
  }
}

extension Thread {
  static func detached<Value: Sendable>(
    _ body: @escaping @Sendable () -> Value?
  ) -> Detached<Value> {
    Detached(body)
  }
}
