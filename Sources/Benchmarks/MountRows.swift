import Platform

/// The rows that are measured through mounts.
enum MountRows {
  private static let block: [UInt8] = {
    var random = BenchRandom(4096)
    return random.bytes(4096)
  }()

  /// Creates, writes and closes small files.
  static func create(_ context: BenchContext) throws -> [BenchFigure] {
    let contenders = try context.mounts()
    let count = try context.files(atMost: context.scale.pick(5000, 10_000))
    let times = try BenchTimer.race(rounds: 5, contenders.count) { runner, round in
      // For each file of the last round that the kernel still knows, `passthrough_ll` would hold a
      // descriptor.
      contenders[runner].stop()
      try contenders[runner].start()
      let files = try Workload.layout(
        count, below: "\(contenders[runner].path)/round\(round)")
      return try Workload.create(files, block) / Double(count)
    }
    let work = "create + write + close 4 KiB, a file"
    return [
      BenchFigure(
        work: work, times, reference: 1, against: contenders[1].name,
        goal: .faster(atLeast: 2, aim: 3)),
      BenchFigure(
        work: work, times, reference: 2, against: contenders[2].name,
        goal: .faster(atLeast: 0, aim: 1)),
    ]
  }

  /// Walks a tree, with cold and with warm caches.
  static func walk(_ context: BenchContext) throws -> [BenchFigure] {
    let contenders = try context.mounts()
    let count = try context.files(atMost: context.scale.pick(10_000, 100_000))
    let directories = count / 100
    var files: [[String]] = []
    for contender in contenders {
      let made = try Workload.layout(count, below: "\(contender.path)/tree")
      _ = try Workload.create(made, [UInt8](repeating: 46, count: 100))
      files.append(made)
    }
    let kinds: [(String, (Int) throws -> Double)] = [
      ("stat", { try Workload.status(files[$0]) }),
      ("readdir", { try Workload.list("\(contenders[$0].path)/tree", directories: directories) }),
      (
        "readdir and stat",
        { try Workload.walk("\(contenders[$0].path)/tree", directories: directories) }
      ),
    ]
    let unasked = "answered from the kernel's memory: no daemon is asked"
    var figures: [BenchFigure] = []
    for (name, run) in kinds {
      let cold = try BenchTimer.race(rounds: 3, contenders.count) { runner, _ in
        try contenders[runner].restart(cold: context.place)
        return try run(runner) / Double(count)
      }
      let warm = try BenchTimer.race(rounds: 7, contenders.count) { runner, _ in
        try run(runner) / Double(count)
      }
      figures.append(
        BenchFigure(
          work: "\(name) walk, cold, an entry", cold, reference: 1,
          against: contenders[1].name, goal: .faster(atLeast: 1, aim: 1.2)))
      figures.append(
        BenchFigure(
          work: "\(name) walk, warm, an entry", warm, reference: 1,
          against: contenders[1].name, goal: .faster(atLeast: 3, aim: 3),
          note: name == "stat" ? unasked : nil))
      figures.append(
        BenchFigure(
          work: "\(name) walk, warm, an entry", warm, reference: 2,
          against: contenders[2].name, goal: .times(atMost: .infinity, aim: 1)))
    }
    return figures
  }

  /// Reads small files, with cold and with warm caches.
  static func read(_ context: BenchContext) throws -> [BenchFigure] {
    let contenders = try context.mounts()
    let count = try context.files(atMost: context.scale.pick(5000, 10_000))
    var files: [[String]] = []
    for contender in contenders {
      let made = try Workload.layout(count, below: "\(contender.path)/tree")
      _ = try Workload.create(made, block)
      files.append(made)
    }
    let cold = try BenchTimer.race(rounds: 3, contenders.count) { runner, _ in
      try contenders[runner].restart(cold: context.place)
      return try Workload.read(files[runner], size: block.count) / Double(count)
    }
    let warm = try BenchTimer.race(rounds: 5, contenders.count) { runner, _ in
      try Workload.read(files[runner], size: block.count) / Double(count)
    }
    let goal = BenchGoal.faster(atLeast: 1.2, aim: 2)
    return [
      BenchFigure(
        work: "open + read 4 KiB + close, cold, a file", cold, reference: 1,
        against: contenders[1].name, goal: goal),
      BenchFigure(
        work: "open + read 4 KiB + close, warm, a file", warm, reference: 1,
        against: contenders[1].name, goal: goal),
      BenchFigure(
        work: "open + read 4 KiB + close, warm, a file", warm, reference: 2,
        against: contenders[2].name),
    ]
  }

  /// Writes and reads one large file.
  static func large(_ context: BenchContext) throws -> [BenchFigure] {
    let contenders = try context.mounts() + [context.unbuffered()]
    let size = context.scale.pick(256 << 20, 1 << 30)
    let blocks = context.scale.pick(5000, 20_000)
    let gibibytes = Double(size) / Double(1 << 30)
    func race(
      _ rounds: Int, _ runners: [Int], _ body: (String, Int) throws -> Double
    ) throws -> BenchRounds {
      try BenchTimer.race(rounds: rounds, runners.count) { runner, round in
        try body("\(contenders[runners[runner]].path)/large", round)
      }
    }
    let writers = [0, 1, 3]
    let readers = [0, 1, 2]
    let written = try race(5, writers) { path, _ in
      if try FileSystem.exists(path) { try FileSystem.unlink(path) }
      try context.place.dropCaches()
      return try Workload.write(path, size: size) / gibibytes
    }
    let scattered = try race(3, writers) { path, round in
      try context.place.dropCaches()
      return try Workload.scatter(path, size: size, count: blocks, seed: UInt64(round))
        / Double(blocks)
    }
    let cold = try BenchTimer.race(rounds: 5, 2) { runner, _ in
      try contenders[runner].restart(cold: context.place)
      return try Workload.readThrough("\(contenders[runner].path)/large", size: size) / gibibytes
    }
    _ = try Workload.write("\(contenders[2].path)/large", size: size)
    let warm = try race(5, readers) { path, _ in
      try Workload.readThrough(path, size: size) / gibibytes
    }
    let write = BenchGoal.faster(atLeast: 0.9, aim: 1)
    let read = BenchGoal.faster(atLeast: 1.2, aim: 2)
    // The reference with the same guarantee: if the daemon dies, bytes that write(2) accepted are
    // not lost.
    let unseen = """
      passthrough_ll's writes stay in the kernel's cache; here each is with the daemon when write(2) returns
      """
    let unasked = "both are read from the kernel's pages: no daemon is asked"
    let through = contenders[1].name
    let uncached = contenders[3].name
    let disk = contenders[2].name
    return [
      ("write, a GiB", written, 1, through, write, unseen),
      ("write, a GiB", written, 2, uncached, .none, nil),
      ("random write of 4 KiB", scattered, 1, through, write, unseen),
      ("random write of 4 KiB", scattered, 2, uncached, .none, nil),
      ("read, cold, a GiB", cold, 1, through, read, nil),
      ("read, warm, a GiB", warm, 1, through, read, unasked),
      ("read, warm, a GiB", warm, 2, disk, .none, nil),
    ].map { work, times, runner, name, goal, note in
      BenchFigure(
        work: work, times, reference: runner, against: name, goal: goal, note: note)
    }
  }
}
