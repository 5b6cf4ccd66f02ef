import LLVSCore
import Platform

/// Measures the space of a store while a database in it is changed every second for an hour.
enum HourRows {
  private static let seconds = 3600
  private static let libraries = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
    .map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }

  /// With the small scale, the clock of the mount and the changes are twenty times as fast.
  static func hour(_ context: BenchContext) throws -> [BenchFigure] {
    let speed = context.scale.pick(20, 1)
    let mount = OwnMount(
      store: try context.place.directory("store"), at: try context.place.directory("mount"))
    if speed > 1 { mount.environment = try environment(speed: speed) }
    try mount.start()
    defer { mount.stop() }
    try mount.command("keep all:10m daily:1y")
    var random = BenchRandom(7)
    let path = "\(mount.path)/x.db"
    let change = try GrowthRows.database(path, rows: 105_000, updates: 1, isLogged: false, &random)
    var most = 0.0
    var marks: [String] = []
    let start = SystemClock.monotonic()
    for second in 1...seconds {
      let due = start + UInt64(second) * 1_000_000_000 / UInt64(speed)
      let now = SystemClock.monotonic()
      if due > now { SystemClock.sleep(nanoseconds: due - now) }
      try change(&random)
      guard second % 10 == 0 else { continue }
      let used = try SampleSource.bytesOnDisk(mount.store)
      most = max(most, used)
      if second % 600 == 0 { marks.append("\(Int(used / 1e6))") }
    }
    let late = Double(SystemClock.monotonic() - start) / 1e9 * Double(speed) / Double(seconds)
    let size = Double(try FileSystem.status(path).size)
    return [
      BenchFigure(
        work: "most bytes on disk, a database changed for an hour", ours: most,
        reference: 2 * size + Double(64 << 20), against: "twice it + 64 MiB", unit: .bytes,
        goal: .times(atMost: 1, aim: 0.75),
        note: "\(Int(size / 1e6)) MB; after each ten minutes: \(marks.joined(separator: ", ")) MB; "
          + "the hour took \(Int((late * 60).rounded())) minutes of the mount's clock")
    ]
  }

  private static func environment(speed: Int) throws -> [String: String] {
    guard let library = libraries.first(where: { (try? FileSystem.exists($0)) == true }) else {
      throw BenchError.unavailable("Debian's faketime is not installed; --scale full takes an hour")
    }
    return [
      "LD_PRELOAD": library, "FAKETIME": "+0 x\(speed)", "NO_FAKE_STAT": "1",
      // Else the library changes the environment. Swift looks for its arguments behind that.
      "FAKETIME_SHARED": "none none",
    ]
  }
}
