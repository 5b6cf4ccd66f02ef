import Platform

/// Measures the waits of programs that sync their files one by one, as editors and databases do.
extension MountRows {
  /// Writes small files and calls fsync(2) after each.
  static func sync(_ context: BenchContext) throws -> [BenchFigure] {
    let contenders = try context.mounts()
    let count = context.scale.pick(200, 1000)
    var random = BenchRandom(4097)
    let block = random.bytes(4096)
    let kinds: [(work: String, run: (String, Int) throws -> [Double])] = [
      (
        "rewrite 4 KiB of a file + fsync",
        { path, _ in
          let file = try File("\(path)/synced", [.readWrite, .create])
          return try (0..<count).map { index in
            try BenchTimer.seconds {
              try file.write(block, at: UInt64(index % 16) * 4096)
              try file.sync()
            }
          }
        }
      ),
      (
        "create + write 4 KiB + fsync + close",
        { path, round in
          try (0..<count).map { index in
            try BenchTimer.seconds {
              let file = try File(
                "\(path)/new\(round)-\(index)", [.readWrite, .create, .exclusive])
              try file.write(block, at: 0)
              try file.sync()
            }
          }
        }
      ),
    ]
    return try kinds.flatMap { kind in
      let times = try BenchTimer.race(rounds: 5, contenders.count) { runner, round in
        BenchTimer.median(try kind.run(contenders[runner].path, round))
      }
      return [1, 2].map {
        BenchFigure(
          work: kind.work, times, reference: $0, against: contenders[$0].name,
          goal: .faster(atLeast: $0 == 1 ? 1 : 0, aim: 1))
      }
    }
  }
}
