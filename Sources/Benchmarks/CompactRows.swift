import Foundation
import LLVSCore
import Platform

/// Measures how long forgetting half of a history takes, next to programs that forget the same history.
enum CompactRows {
  /// Names of the contenders, in the order of their numbers.
  private static let references = ["git gc --prune=now", "restic forget --prune"]

  static func compact(_ context: BenchContext) throws -> [BenchFigure] {
    let sample = CompactSample(
      versions: context.versions ?? context.scale.pick(2000, 20_000),
      bytes: context.bytes ?? context.scale.pick(200_000_000, 2_000_000_000),
      snapshots: context.scale.pick(40, 400))
    // A large history is not copied, so it can be forgotten once.
    let rounds = sample.totalBytes > 1 << 30 ? 1 : 3
    let samples = try context.place.directory("samples")
    let own = "\(samples)/own"
    try sample.makeStore(own)
    let used = try use(of: own, sample, rounds, context)
    var contenders: [CompactContender?] = [CompactContender.llvs(own)]
    let git = "\(samples)/git"
    if (try? BenchProcess.requireGit()) != nil {
      try sample.makeRepository(git)
      contenders.append(.git(git))
    } else {
      contenders.append(nil)
    }
    let restic = "\(samples)/restic"
    if (try? BenchProcess.call(["restic", "version"])) != nil {
      try sample.makeSnapshots(restic, tree: "\(samples)/tree")
      contenders.append(.restic(restic))
    } else {
      contenders.append(nil)
    }
    return try race(contenders, sample, rounds, context) + used
  }

  // MARK: - Time and space

  private static func race(
    _ contenders: [CompactContender?], _ sample: CompactSample, _ rounds: Int,
    _ context: BenchContext
  ) throws -> [BenchFigure] {
    var before = [Double](repeating: 0, count: contenders.count)
    var after = before
    let times = try BenchTimer.race(rounds: rounds, contenders.count) { runner, round in
      guard var contender = contenders[runner] else { return 0 }
      if round < rounds - 1 { try contender.copy(to: try context.place.directory("copy")) }
      before[runner] = try SampleSource.bytesOnDisk(contender.path)
      try context.place.sync()
      let seconds = try BenchTimer.seconds { try contender.run() }
      try context.place.sync()
      after[runner] = try SampleSource.bytesOnDisk(contender.path)
      try FileSystem.removeTree(contender.path)
      return seconds
    }
    let work = "forget half of \(sample.versions) versions"
    func megabytes(_ bytes: Double) -> String { "\(Int((bytes / 1e6).rounded())) MB" }
    var figures: [BenchFigure] = []
    for (index, name) in references.enumerated() {
      guard contenders[index + 1] != nil else {
        figures.append(
          BenchFigure(
            work: work, ours: times[0], note: "\(name) cannot run here: it is not installed"))
        continue
      }
      let isRestic = index == 1
      figures.append(
        BenchFigure(
          work: work, times, reference: index + 1, against: name,
          goal: .faster(atLeast: 2, aim: 5),
          note: "on the disk: ours \(megabytes(before[0])) before, \(megabytes(after[0])) after; "
            + "\(name) \(megabytes(before[index + 1])) before, \(megabytes(after[index + 1])) after"
            + (isRestic
              ? "; restic has \(sample.snapshots) snapshots of \(sample.versionsOfSnapshot) versions each"
              : "")))
      figures.append(
        BenchFigure(
          work: "bytes on the disk afterwards", ours: after[0], reference: after[index + 1],
          against: name, unit: .bytes, goal: .times(atMost: 1.25, aim: 1.05)))
    }
    return figures
  }

  // MARK: - Use

  /// Measures versions in a mount while it forgets, next to versions before.
  private static func use(
    of store: String, _ sample: CompactSample, _ rounds: Int, _ context: BenchContext
  ) throws -> [BenchFigure] {
    var quiet: [Double] = []
    var busy: [Double] = []
    var longest = 0.0
    var count = 0
    for _ in 0..<rounds {
      var copy = CompactContender.llvs(store)
      try copy.copy(to: try context.place.directory("used"))
      let mount = OwnMount(store: copy.path, at: try context.place.directory("mount"))
      try mount.start()
      defer { mount.stop() }
      try mount.command("set settle=1h")
      var random = BenchRandom(3)
      func version() throws -> Double {
        let bytes = random.bytes(20_000)
        return try BenchTimer.seconds {
          let file = try File("\(mount.path)/used", [.readWrite, .create])
          try file.write(bytes, at: 0)
          try mount.command("commit")
        }
      }
      for _ in 0..<20 { _ = try version() }
      quiet.append(BenchTimer.median(try (0..<100).map { _ in try version() }))
      try mount.command("keep daily")
      let process = try BenchProcess.start(
        [try BenchProcess.llvs.get(), "compact"], in: mount.path)
      var times: [Double] = []
      while process.isRunning { times.append(try version()) }
      guard process.terminationStatus == 0 else { throw BenchError.failed("compact failed") }
      count += times.count
      busy.append(BenchTimer.median(times))
      longest = max(longest, times.max() ?? 0)
      mount.stop()
      try FileSystem.removeTree(copy.path)
    }
    let rounds = BenchRounds(times: [busy, quiet])
    return [
      BenchFigure(
        work: "a version while the mount forgets", rounds, reference: 1, against: "before",
        goal: .times(atMost: 1.25, aim: 1.05), note: "\(count) versions while it forgot"),
      BenchFigure(work: "the slowest of these versions", ours: longest),
    ]
  }
}

/// A program with a copy of the history, which it can forget half of.
private struct CompactContender {
  private(set) var path: String
  private let command: (String) throws -> Void

  mutating func copy(to directory: String) throws {
    try BenchProcess.call(["cp", "-a", path, "\(directory)/copy"])
    path = "\(directory)/copy"
  }

  func run() throws { try command(path) }

  static func llvs(_ path: String) -> Self {
    Self(path: path) { path in
      try BenchProcess.call([try BenchProcess.llvs.get(), "compact", "--store", path])
    }
  }

  static func git(_ path: String) -> Self {
    Self(path: path) { path in try BenchProcess.git("gc", "-q", "--prune=now", in: path) }
  }

  static func restic(_ path: String) -> Self {
    Self(path: path) { path in
      try BenchProcess.call(
        CompactSample.restic(path) + [
          "forget", "--prune", "--keep-daily", "1000000", "--group-by", "",
        ])
    }
  }
}
