import Foundation
import LLVSCore
import Platform

extension MountRows {
  /// Mounts a large store, and measures the time until it answers and the memory of its daemon.
  static func memory(_ context: BenchContext) throws -> [BenchFigure] {
    let count = context.scale.pick(100_000, 1_000_000)
    let versions = context.scale.pick(300, 1000)
    let mount = OwnMount(
      store: try context.place.directory("store"), at: try context.place.directory("mount"))
    var imported = 0.0
    let start = SystemClock.monotonic()
    var store: Store? = try Store.open(path: mount.store, create: true)
    if let store {
      let first = try SampleStore.fill(store, count: count, isHead: true)
      imported = Double(SystemClock.monotonic() - start) / 1e9
      _ = try SampleStore.extend(store, from: first, values: count, versions: versions)
    }
    // Closed, so that another process can open it.
    store = nil
    try context.place.dropCaches()
    let started = try BenchTimer.seconds { try mount.start() }
    defer { mount.stop() }
    let fresh = try residentBytes(of: mount)
    // One directory holds a tenth of all names.
    let listed = try BenchTimer.seconds { _ = try FileSystem.list("\(mount.path)/big") }
    let names = SampleStore.bigCount(of: count)
    let once = try residentBytes(of: mount)
    let walked = try BenchTimer.seconds { try walk(mount.path) }
    let full = try residentBytes(of: mount)
    let places = try FileSystem.list("\(mount.path)/.llvs/versions")
    let history = try BenchTimer.seconds {
      for place in places { try walk("\(mount.path)/.llvs/versions/\(place)/d10000") }
    }
    let past = try residentBytes(of: mount)
    let title = "\(count) values"
    let lookups = places.count * 100
    return [
      BenchFigure(work: "\(title): import, a value", ours: imported / Double(count)),
      BenchFigure(work: "\(title): mount until it answers, cold", ours: started),
      BenchFigure(work: "\(title): list a directory of \(names), cold", ours: listed),
      BenchFigure(work: "\(title): memory of the daemon, at first", ours: fresh, unit: .bytes),
      BenchFigure(work: "\(title): memory after that listing", ours: once, unit: .bytes),
      BenchFigure(work: "\(title): walk over all, a name", ours: walked / Double(count)),
      BenchFigure(work: "\(title): memory after that walk", ours: full, unit: .bytes),
      BenchFigure(
        work: "\(title): memory, a name known to the kernel",
        ours: max(0, full - once) / Double(count), unit: .bytes,
        goal: .within(atMost: 300, aim: 100)),
      BenchFigure(
        work: "\(places.count) versions: walk over \(lookups) names, a name",
        ours: history / Double(lookups)),
      BenchFigure(
        work: "\(places.count) versions: memory after that walk", ours: past, unit: .bytes),
    ]
  }

  /// Lists all directories below a path and reads the attributes of everything in them.
  private static func walk(_ path: String) throws {
    for name in try FileSystem.list(path) {
      let place = "\(path)/\(name)"
      if try FileSystem.status(place, following: false).kind == .directory { try walk(place) }
    }
  }

  private static func residentBytes(of mount: OwnMount) throws -> Double {
    guard let process = mount.process else { return 0 }
    let text = String(
      decoding: try FileSystem.read("/proc/\(process.processIdentifier)/status", atMost: 65_536),
      as: UTF8.self)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) * 1024
  }
}
