import Foundation
import Platform

/// Measures programs that users run in a mount, and the first change of a large file.
extension MountRows {
  /// Overwrites 4 KiB in a large value that is in a version already, and commits.
  static func patch(_ context: BenchContext) throws -> [BenchFigure] {
    let mount = OwnMount(
      store: try context.place.directory("store"), at: try context.place.directory("mount"))
    let size = context.scale.pick(256 << 20, 1 << 30)
    let file = "\(mount.path)/large"
    var random = BenchRandom(9)
    try mount.start()
    defer { mount.stop() }
    _ = try Workload.write(file, size: size)
    try mount.command("commit")
    var (first, committed, added): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<3 {
      try mount.restart(cold: context.place)
      let before = try SampleSource.bytesOnDisk(mount.store)
      let block = random.bytes(4096)
      let offset = random.next() % UInt64(size / 4096) * 4096
      first.append(
        try BenchTimer.seconds { try File(file, .readWrite).write(block, at: offset) })
      committed.append(try BenchTimer.seconds { try mount.command("commit") })
      added.append(try SampleSource.bytesOnDisk(mount.store) - before)
    }
    let title = "4 KiB in a value of \(size >> 20) MiB"
    return [
      BenchFigure(
        work: "\(title): first write, cold", ours: BenchTimer.median(first),
        goal: .within(atMost: 0.005, aim: 0.001)),
      BenchFigure(work: "\(title): commit", ours: BenchTimer.median(committed)),
      BenchFigure(
        work: "\(title): added to the disk", ours: BenchTimer.median(added), unit: .bytes,
        goal: .within(atMost: 2_097_152, aim: 524_288)),
    ]
  }

  /// Searches a version with grep, and runs git status in a repository in the working tree.
  static func programs(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    let mount = OwnMount(
      store: try context.place.directory("store"), at: try context.place.directory("mount"))
    let disk = PlainDirectory(try context.place.directory("plain"))
    let contenders: [any Contender] = [mount, disk]
    let count = context.scale.pick(5000, 20_000)
    var random = BenchRandom(13)
    let text = random.text(lines: 60)
    try mount.start()
    defer { mount.stop() }
    for contender in contenders {
      let files = try Workload.layout(count, below: "\(contender.path)/tree")
      _ = try Workload.create(files, text)
      let tree = "\(contender.path)/tree"
      try BenchProcess.git("init", "-q", "-b", "main", in: tree)
      try BenchProcess.git("add", "-A", in: tree)
      try BenchProcess.git("commit", "-q", "-m", "all", in: tree)
    }
    try mount.restart(cold: context.place)
    guard let version = try FileSystem.list("\(mount.path)/.llvs/versions").max() else {
      throw BenchError.failed("no version was made")
    }
    let roots = ["\(mount.path)/.llvs/versions/\(version)/tree", "\(disk.path)/tree"]
    func search(_ runner: Int) throws -> Double {
      try BenchTimer.seconds {
        // grep finds nothing, so that the repository's own files and the order make no difference.
        try BenchProcess.call(
          ["sh", "-c", "! grep -r --exclude-dir=.git 'no such words' ."], in: roots[runner])
      }
    }
    func state(_ runner: Int) throws -> Double {
      try BenchTimer.seconds {
        try BenchProcess.git("status", "--porcelain", in: "\(contenders[runner].path)/tree")
      }
    }
    var figures: [BenchFigure] = []
    for (name, run) in [
      ("grep -r, version of \(count) files", search), ("git status, \(count) files", state),
    ] {
      let cold = try BenchTimer.race(rounds: 3, 2) { runner, _ in
        try contenders[runner].restart(cold: context.place)
        return try run(runner)
      }
      let warm = try BenchTimer.race(rounds: 5, 2) { runner, _ in try run(runner) }
      for (times, state) in [(cold, "cold"), (warm, "warm")] {
        figures.append(
          BenchFigure(
            work: "\(name), \(state)", times, reference: 1, against: disk.name,
            goal: .times(atMost: .infinity, aim: 1)))
      }
    }
    return figures
  }
}
