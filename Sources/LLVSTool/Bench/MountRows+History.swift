import Foundation
import LLVS
import Platform

extension MountRows {
  /// Walks and reads a version below `.llvs/versions`.
  static func history(_ context: BenchContext) throws -> [BenchFigure] {
    let contenders = try context.mounts()
    let count = try context.files(atMost: context.scale.pick(5000, 10_000))
    let size = 4096
    var random = BenchRandom(1)
    let bytes = random.bytes(size)
    for contender in contenders {
      let made = try Workload.layout(count, below: "\(contender.path)/tree")
      _ = try Workload.create(made, bytes)
    }
    // The cut at its end makes the version.
    try contenders[0].restart(cold: context.place)
    let versions = "\(contenders[0].path)/.llvs/versions"
    guard let version = try? FileSystem.list(versions).max() else {
      throw BenchError.unavailable("this build shows no versions below .llvs")
    }
    let roots =
      ["\(versions)/\(version)/tree"] + contenders.dropFirst().map { "\($0.path)/tree" }
    let files = roots.map { root in
      (0..<count).map { "\(root)/d\(1000 + $0 / 100)/file\(1000 + $0 % 100)" }
    }
    let (total, directories) = (Double(count), count / 100)
    let cold = try BenchTimer.race(rounds: 3, 2) { runner, _ in
      try contenders[runner].restart(cold: context.place)
      return try Workload.read(files[runner], size: size) / total
    }
    var figures = [
      BenchFigure(
        work: "history: read 4 KiB, cold, a file", ours: cold[0], reference: cold[1],
        against: contenders[1].name, goal: .faster(atLeast: 1, aim: 1.5))
    ]
    let opening = "one OPEN a file, which the kernel spares whole mounts only"
    let warm: [(String, BenchGoal, String?, (Int) throws -> Double)] = [
      (
        "read 4 KiB", .times(atMost: 2, aim: 1.2), opening,
        { try Workload.read(files[$0], size: size) }
      ),
      ("stat walk", .times(atMost: 1.5, aim: 1), nil, { try Workload.status(files[$0]) }),
      (
        "readdir walk", .times(atMost: 1.5, aim: 1), nil,
        { try Workload.list(roots[$0], directories: directories) }
      ),
    ]
    for (name, goal, note, run) in warm {
      for runner in [0, 2] { _ = try run(runner) }
      let times = try BenchTimer.race(rounds: 5, 2) { runner, _ in try run(runner * 2) / total }
      figures.append(
        BenchFigure(
          work: "history: \(name), warm, an entry", ours: times[0], reference: times[1],
          against: contenders[2].name, goal: goal, note: note))
    }
    return figures
  }

  /// A large store, mounted: how long until it answers, and what its daemon takes.
  static func memory(_ context: BenchContext) throws -> [BenchFigure] {
    let count = context.scale.pick(100_000, 1_000_000)
    let mount = OwnMount(
      store: try context.place.directory("store"), at: try context.place.directory("mount"))
    let imported = try BenchTimer.seconds {
      let store = try Store.open(path: mount.store, create: true)
      try SampleStore.fill(store, count: count, isHead: true)
    }
    try context.place.dropCaches()
    let started = try BenchTimer.seconds { try mount.start() }
    defer { mount.stop() }
    let fresh = try residentBytes(of: mount)
    // One directory holds a tenth of all.
    let listed = try BenchTimer.seconds { _ = try FileSystem.list("\(mount.path)/big") }
    let names = SampleStore.bigCount(of: count)
    let walked = try residentBytes(of: mount)
    _ = try Workload.status(
      try FileSystem.list("\(mount.path)/big").map { "\(mount.path)/big/\($0)" })
    let full = try residentBytes(of: mount)
    let title = "\(count) values"
    return [
      BenchFigure(work: "\(title): import, a value", ours: imported / Double(count)),
      BenchFigure(work: "\(title): mount until it answers, cold", ours: started),
      BenchFigure(work: "\(title): list a directory of \(names), cold", ours: listed),
      BenchFigure(work: "\(title): memory of the daemon, at first", ours: fresh, unit: .bytes),
      BenchFigure(
        work: "\(title): memory after that listing", ours: walked, unit: .bytes),
      BenchFigure(
        work: "\(title): memory, a name known to the kernel",
        ours: max(0, full - fresh) / Double(names), unit: .bytes,
        goal: .within(atMost: 1000, aim: 100)),
    ]
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
