import Foundation
import Platform
import Synchronization
import Testing

@testable import FuseSession

// What keeps processors awake is looked for in the whole process, so one test at a time.
@Suite("Staying awake while requests come in a stream", .serialized) struct StayingAwakeTests {
  @Test(
    "a stream begins when requests come fast and ends when they come slowly",
    .timeLimit(.minutes(1)))
  func pace() {
    var pace = RequestRate()
    var now: UInt64 = 1_000_000_000
    var taken: UInt64 = 0
    /// Lets `count` requests come in each of `windows` windows; says after how many it changed.
    func pass(_ count: UInt64, windows: Int) -> [Int] {
      (0..<windows).filter { _ in
        now += RequestRate.window
        taken += count
        return pace.note(taken, at: now)
      }
    }
    _ = pace.note(0, at: now)
    let (fast, slow) = (RequestRate.fast * 4 / 1000, RequestRate.slow * 4 / 1000)
    let changes = [fast - 1, fast, slow, slow - 1, fast].map { pass($0, windows: 50) }
    #expect(changes == [[], [0], [], [0], [0]], "what has begun goes on at a lower rate")
    let (first, second) = (pace.pause(), pace.pause())
    #expect(first && !second && !pace.isStream)
  }

  @Test("a moment's burst within a window is no stream", .timeLimit(.minutes(1)))
  func burst() {
    var pace = RequestRate()
    _ = pace.note(0, at: 1_000_000_000)
    let changed = pace.note(15, at: 1_000_500_000)
    #expect(!changed && !pace.isStream)
    let changes = pace.note(15, at: 1_004_000_000)
    #expect(!changes, "fifteen requests in four milliseconds")
  }

  @Test(
    "who looks out and is rewarded goes on; who is not tries ever more rarely",
    .timeLimit(.minutes(1)))
  func lookout() {
    var lookout = AdaptiveSpin()
    var now: UInt64 = 0
    /// Says how often it looked while a request comes after `delay` nanoseconds.
    func wait(delay: UInt64, step: UInt64 = 1000) -> Int {
      let arrival = now + delay
      var looks = 0
      lookout.wait(
        clock: {
          now += step
          return now
        },
        isPending: {
          looks += 1
          return now >= arrival
        })
      now = max(now, arrival)
      return looks
    }
    let looks = wait(delay: 0)
    #expect(looks == 1, "one that is there is taken at once")
    let rewarded = (0..<10).map { _ in wait(delay: 10_000) }
    #expect(rewarded.allSatisfy { $0 > 5 })
    // One miss is forgiven but for one request, then for three, seven...
    var tries: [Int] = []
    for index in 0..<1200 where wait(delay: 1_000_000) > 0 { tries.append(index) }
    #expect(tries == [0, 2, 6, 14, 30, 62, 126, 254, 510, 766, 1022])
    // The next that pays ends that.
    while wait(delay: 10_000) == 0 {}
    let again = wait(delay: 10_000)
    #expect(again > 0)
    // Whoever takes the processor away ends it at the first look.
    let interrupted = wait(delay: 1_000_000, step: 2 * AdaptiveSpin.interruption)
    let after = wait(delay: 10_000)
    #expect(interrupted == 2 && after == 0)
  }

  @Test(
    "how awake a processor must be depends on how it sleeps", .timeLimit(.minutes(1)),
    arguments: [
      ("haltpoll", 0), ("intel_idle", 2), ("acpi_idle", 2), ("none", nil), ("", nil),
    ] as [(String, Int32?)])
  func limits(driver: String, limit: Int32?) {
    #expect(ProcessorLatency.limit(of: driver) == limit)
  }

  /// True where processors can be kept awake by this process.
  static var isPossible: Bool {
    var latency = ProcessorLatency()
    return Mounted.isPossible && latency.hold()
  }

  private static func holds() -> Bool {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return descriptors.contains {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
        == ProcessorLatency.device
    }
  }

  /// Asks for names that are not there, each a request, until `condition` holds or ten seconds are up.
  private static func ask(
    _ mount: Mounted, until condition: @escaping @Sendable () -> Bool
  ) throws -> Bool {
    let user = Thread.detached {
      try? mount.shell(
        """
        timeout 10 python3 -c '
        import os
        n = 0
        while not os.path.exists("stop"): n += 1; os.path.exists("none%d" % n)'
        """)
    }
    let came = eventually(condition)
    _ = try mount.shell("touch stop")
    _ = user.value()
    return came
  }

  @Test(
    "processors are kept awake while requests come in a stream, and no longer",
    .enabled(if: isPossible, "needs root and a kernel that chooses how processors sleep"),
    .timeLimit(.minutes(1)))
  func whileStreaming() throws {
    try Mounted.with { mount in
      _ = try mount.shell("ls; sleep 0.1; ls")
      #expect(!Self.holds())
      #expect(try Self.ask(mount) { Self.holds() })
      #expect(eventually { !Self.holds() })
    }
  }

  @Test(
    "a session that is to save power keeps nothing awake",
    .enabled(if: isPossible, "needs root and a kernel that chooses how processors sleep"),
    .timeLimit(.minutes(1)))
  func savingPower() throws {
    var connection = ConnectionOptions()
    connection.staysAwake = false
    try Mounted.with(connection: connection) { mount in
      let start = Date()
      let held = Mutex(false)
      _ = try Self.ask(mount) {
        if Self.holds() { held.withLock { $0 = true } }
        return Date().timeIntervalSince(start) > 0.5
      }
      #expect(!held.withLock { $0 })
      #expect(mount.fileSystem.calls("lookup") > 500, "the requests came")
    }
  }
}
