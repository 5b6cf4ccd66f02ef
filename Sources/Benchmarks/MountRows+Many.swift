import Platform

extension MountRows {
  /// Makes a version of very many new files in a mount, then of one, and mounts after a kill that left as many pending.
  static func many(_ context: BenchContext) throws -> [BenchFigure] {
    let mount = OwnMount(
      store: try context.place.directory("store"), at: try context.place.directory("mount"))
    let count = context.scale.pick(20_000, 100_000)
    let bytes = [UInt8](repeating: 46, count: 100)
    try mount.start()
    defer { mount.stop() }
    // Versions are made when they are asked for, and not in between.
    try mount.command("set settle=1h")
    _ = try Workload.create(try Workload.layout(count, below: "\(mount.path)/first"), bytes)
    let all = try BenchTimer.seconds { try mount.command("commit") }
    let one = try (0..<9).map { round in
      try File("\(mount.path)/one", [.readWrite, .create]).write([UInt8(round)], at: 0)
      return try BenchTimer.seconds { try mount.command("commit") }
    }
    _ = try Workload.create(try Workload.layout(count, below: "\(mount.path)/second"), bytes)
    try mount.kill()
    let opened = try BenchTimer.seconds { try mount.start() }
    guard try FileSystem.list("\(mount.path)/second").count == (count + 99) / 100 else {
      throw BenchError.failed("files are missing after the kill")
    }
    return [
      BenchFigure(
        work: "version of \(count) new files in a mount, a file", ours: all / Double(count)),
      BenchFigure(work: "version of one file after that", ours: BenchTimer.median(one)),
      BenchFigure(work: "the slowest of \(one.count) such versions", ours: one.max() ?? 0),
      BenchFigure(
        work: "mount after a kill with \(count) files pending, a file",
        ours: opened / Double(count)),
    ]
  }
}
