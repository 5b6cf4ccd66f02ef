import Grammar
package import LLVSCore

/// The newest results of `compact` in a store, in a setting of their own.
struct CompactionRecord: Hashable, Sendable {
  static let setting = "compaction"

  struct Run: Hashable, Sendable {
    /// In nanoseconds since 1970.
    var time: Int64
    /// The versions that the run forgot.
    var versions: Int
    /// The bytes that came free on the disk.
    var freed: UInt64
  }

  /// What a run would forget.
  struct Estimate: Hashable, Sendable {
    var time: Int64
    var versions: Int
    var bytes: UInt64
    /// The policy that it is for, as `keep` has it.
    var keep: String
  }

  /// The newest run that forgot something.
  var run: Run?
  var estimate: Estimate?
  /// The time of the newest estimate for a quiet mount, which is made once a day.
  var tried: Int64?
  var clock: ClockWitness?

  init() {}

  /// Reads the bytes that ``encoded`` made; fields that cannot be read are left out.
  init(_ bytes: [UInt8]?) {
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      // Their differences must not overflow.
      let numbers = words.dropFirst().map { word in
        Int64(word).flatMap { $0.magnitude < 1 << 62 ? $0 : nil }
      }
      func number(_ index: Int) -> Int64? { index < numbers.count ? numbers[index] : nil }
      switch words.first {
      case "run":
        guard let time = number(0), let versions = number(1), let freed = number(2) else {
          continue
        }
        run = Run(time: time, versions: Int(versions), freed: UInt64(clamping: freed))
      case "estimate":
        guard let time = number(0), let versions = number(1), let bytes = number(2),
          words.count > 4
        else { continue }
        estimate = Estimate(
          time: time, versions: Int(versions), bytes: UInt64(clamping: bytes), keep: words[4])
      case "tried": tried = number(0)
      case "clock":
        guard let now = number(0), let boottime = number(1), words.count > 3 else { continue }
        clock = ClockWitness(
          now: now, boottime: UInt64(clamping: boottime), bootID: words[3], doubt: number(3))
      default: break
      }
    }
  }

  var encoded: [UInt8] {
    var lines: [String] = []
    if let run { lines.append("run \(run.time) \(run.versions) \(run.freed)") }
    if let estimate {
      lines.append(
        "estimate \(estimate.time) \(estimate.versions) \(estimate.bytes) \(estimate.keep)")
    }
    if let tried { lines.append("tried \(tried)") }
    if let clock {
      let bootID = clock.bootID.isEmpty ? "-" : clock.bootID
      let doubt = clock.doubt.map { " \($0)" } ?? ""
      lines.append("clock \(clock.now) \(clock.boottime) \(bootID)\(doubt)")
    }
    return Array(lines.joined(separator: "\n").utf8)
  }
}

extension Store {
  /// The bytes that `compact` would free by the newest estimate for the present `keep`; nil without one.
  package func forgettableBytes() throws(StoreError) -> UInt64? {
    let stored = try state().settings
    var faults: [String] = []
    let keep = StoreSettings(stored: stored, faults: &faults).keep.text
    let estimate = CompactionRecord(stored[CompactionRecord.setting]).estimate
    return estimate.flatMap { $0.keep == keep ? $0.bytes : nil }
  }
}
