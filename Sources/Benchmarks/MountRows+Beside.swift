import Platform
import Synchronization

/// Measures versions of a few files next to very many that no version takes.
extension MountRows {
  static func beside(_ context: BenchContext) throws -> [BenchFigure] {
    let mount = OwnMount(
      store: try context.place.directory("store"), at: try context.place.directory("mount"))
    let count = context.scale.pick(20_000, 50_000)
    let bytes = [UInt8](repeating: 46, count: 100)
    try mount.start()
    defer { mount.stop() }
    // Versions are made when they are asked for, and not in between.
    try mount.command("set settle=1h")
    _ = try Workload.create(try Workload.layout(count, below: "\(mount.path)/tree"), bytes)
    let few = try Workload.layout(20, below: "\(mount.path)/few")
    func versions() throws -> [Double] {
      try (0..<7).map { round in
        for path in few {
          try File(path, [.readWrite, .create]).write(Array("round \(round)".utf8), at: 0)
        }
        SystemClock.sleep(nanoseconds: 300_000_000)
        return try BenchTimer.seconds { try mount.command("commit") }
      }
    }
    try mount.command("commit")
    let quiet = try versions()
    try mount.command("ignore scratch/")
    let scratch = try Workload.layout(count, below: "\(mount.path)/scratch")
    _ = try Workload.create(scratch, bytes)
    try mount.command("commit")
    let pending = try versions()
    let writers = try (0..<3).map { try ScratchWriter($0, scratch) }
    let busy = Result { try versions() }
    let waits = writers.flatMap { $0.stop() }.sorted()
    func figure(_ work: String, _ times: [Double]) -> BenchFigure {
      BenchFigure(
        work: "version of 20 files, \(count) ignored ones \(work)", ours: BenchTimer.median(times),
        reference: BenchTimer.median(quiet), against: "nothing else",
        goal: .times(atMost: 3, aim: 1.5))
    }
    return [
      figure("pending", pending), figure("that 3 programs change", try busy.get()),
      BenchFigure(
        work: "creation of a file meanwhile, 99th percentile",
        ours: waits.isEmpty ? 0 : waits[waits.count * 99 / 100],
        goal: .within(atMost: 0.03, aim: 0.01)),
      BenchFigure(work: "creation of a file meanwhile, longest", ours: waits.last ?? 0),
    ]
  }
}

/// A thread that creates, writes, renames, links and removes files until it is stopped.
private final class ScratchWriter: Sendable {
  private struct State {
    var isStopped = false
    var waits: [Double] = []
  }

  private let state = Mutex(State())
  private let ended = Monitor(false)

  init(_ index: Int, _ files: [String]) throws {
    let directories = Array(Set(files.map { FileSystem.directory(of: $0) })).sorted()
    try SystemThread.detach(name: "bench-writer") { [self] in
      var random = BenchRandom(UInt64(index))
      var round = 0
      while !state.withLock({ $0.isStopped }) {
        round += 1
        let directory = directories[Int(random.next() % UInt64(directories.count))]
        let old = files[Int(random.next() % UInt64(files.count))]
        // Another writer may have removed or renamed the file.
        try? step("\(directory)/new\(index)-\(round)", old, random.next())
      }
      ended.withLock { $0 = true }
      ended.broadcast()
    }
  }

  private func step(_ path: String, _ old: String, _ choice: UInt64) throws {
    let block = [UInt8](repeating: UInt8(truncatingIfNeeded: choice), count: 4096)
    let seconds = try BenchTimer.seconds {
      _ = try File(path, [.readWrite, .create, .exclusive])
    }
    state.withLock { $0.waits.append(seconds) }
    switch choice % 5 {
    case 0: try FileSystem.unlink(path)
    case 1: try FileSystem.rename(path, to: old)
    case 2: try FileSystem.link(path, to: path + "-link")
    case 3: try File(old, .readWrite).write(block, at: choice % 65_536)
    default: try File(path, .readWrite).write(block, at: 0)
    }
  }

  /// Stops the thread; returns how long it waited for each file that it created.
  func stop() -> [Double] {
    state.withLock { $0.isStopped = true }
    _ = ended.wait { $0 ? true : nil }
    return state.withLock { $0.waits }
  }
}
