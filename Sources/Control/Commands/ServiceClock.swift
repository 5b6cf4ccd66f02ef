import Platform

/// The clocks that decide what is old; tests have their own.
package struct ServiceClock: Sendable {
  /// Nanoseconds since 1970.
  package var now: @Sendable () -> Int64
  /// Nanoseconds since the machine started, sleep included.
  package var boottime: @Sendable () -> UInt64
  /// Names the run of the kernel that ``boottime`` counts from.
  package var bootID: @Sendable () -> String

  package init(
    now: @escaping @Sendable () -> Int64, boottime: @escaping @Sendable () -> UInt64,
    bootID: @escaping @Sendable () -> String
  ) {
    self.now = now
    self.boottime = boottime
    self.bootID = bootID
  }

  package static let system = ServiceClock(
    now: { SystemClock.now() }, boottime: { SystemClock.boottime() },
    bootID: { (try? SystemProcess.bootID()) ?? "" })
}

/// A reading of the clocks, and if the clock was found to be wrong.
///
/// A clock that goes back or leaps would make all versions look old. Then a day has to pass in which it does neither.
struct ClockWitness: Hashable, Sendable {
  /// The greatest difference between the clocks within a run of the kernel, in nanoseconds.
  private static let tolerance: Int64 = 3_600_000_000_000
  /// The longest time that a machine may be off, in nanoseconds: half a year.
  private static let absence: Int64 = 182 * day
  private static let day: Int64 = 86_400_000_000_000
  var now: Int64
  var boottime: UInt64
  var bootID: String
  /// The time at which the clock was found to be wrong; nil if it is trusted.
  var doubt: Int64?

  init(now: Int64, boottime: UInt64, bootID: String, doubt: Int64? = nil) {
    (self.now, self.boottime, self.bootID, self.doubt) = (now, boottime, bootID, doubt)
  }

  /// Reads the clocks, and compares them with an earlier reading.
  init(_ clock: ServiceClock, after earlier: ClockWitness?) {
    (now, boottime, bootID) = (clock.now(), clock.boottime(), clock.bootID())
    guard let earlier else { return }
    let passed = now.subtractingReportingOverflow(earlier.now)
    let isRight: Bool
    if bootID == earlier.bootID, boottime >= earlier.boottime, !passed.overflow {
      let drift = passed.partialValue - Int64(clamping: boottime - earlier.boottime)
      isRight = drift.magnitude <= Self.tolerance
    } else {
      isRight =
        !passed.overflow && (-Self.tolerance...Self.absence).contains(passed.partialValue)
    }
    doubt = isRight ? earlier.doubt : now
    if let since = doubt, now >= since, now - since >= Self.day { doubt = nil }
  }
}
