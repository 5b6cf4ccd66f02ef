import Foundation
import LLVSCore
import Platform

extension MountRows {
  /// Walks and reads a version below `.llvs/versions`, with and without `-o fasthistory`.
  static func history(_ context: BenchContext) throws -> [BenchFigure] {
    let contenders = try context.mounts()
    let sample = HistorySample(
      count: try context.files(atMost: context.scale.pick(5000, 10_000)),
      large: context.scale.pick(256 << 20, 1 << 30))
    for contender in contenders { try sample.make(below: contender.path) }
    var figures = try historyFigures(context, contenders, sample, "history")
    if SystemProcess.effectiveUser == 0, let own = contenders.first as? OwnMount {
      own.hurriesHistory = true
      figures += try historyFigures(context, contenders, sample, "history (fasthistory)")
    }
    return figures
  }

  private struct HistorySample {
    let count: Int
    let size = 4096
    let large: Int

    func make(below path: String) throws {
      var random = BenchRandom(1)
      let made = try Workload.layout(count, below: "\(path)/tree")
      _ = try Workload.create(made, random.bytes(size))
      _ = try Workload.write("\(path)/tree/large", size: large)
    }
  }

  private static func historyFigures(
    _ context: BenchContext, _ contenders: [any Contender], _ sample: HistorySample,
    _ title: String
  ) throws -> [BenchFigure] {
    // The end of the mount makes the version.
    try contenders[0].restart(cold: context.place)
    let versions = "\(contenders[0].path)/.llvs/versions"
    guard let version = try? FileSystem.list(versions).max() else {
      throw BenchError.unavailable("this build shows no versions below .llvs")
    }
    let roots =
      ["\(versions)/\(version)/tree"] + contenders.dropFirst().map { "\($0.path)/tree" }
    let files = roots.map { root in
      (0..<sample.count).map { "\(root)/d\(1000 + $0 / 100)/file\(1000 + $0 % 100)" }
    }
    let (total, directories) = (Double(sample.count), sample.count / 100)
    let gibibytes = Double(sample.large) / Double(1 << 30)
    let cold: [(String, (Int) throws -> Double)] = [
      (
        "read 4 KiB, cold, a file",
        { try Workload.read(files[$0], size: sample.size) / total }
      ),
      (
        "read, cold, a GiB",
        { try Workload.readThrough("\(roots[$0])/large", size: sample.large) / gibibytes }
      ),
    ]
    var figures: [BenchFigure] = []
    for (name, run) in cold {
      let times = try BenchTimer.race(rounds: 3, 2) { runner, _ in
        try contenders[runner].restart(cold: context.place)
        return try run(runner)
      }
      figures.append(
        BenchFigure(
          work: "\(title): \(name)", times, reference: 1,
          against: contenders[1].name, goal: .faster(atLeast: 1, aim: 1.5)))
    }
    let opening = "one OPEN a file, which the kernel spares whole mounts only: -o fasthistory"
    let note = title == "history" ? opening : nil
    let warm: [(String, BenchGoal, String?, (Int) throws -> Double)] = [
      (
        "read 4 KiB, warm, an entry", .times(atMost: 2, aim: 1.2), note,
        { try Workload.read(files[$0], size: sample.size) / total }
      ),
      (
        "read, warm, a GiB", .times(atMost: 2, aim: 1.2), nil,
        { try Workload.readThrough("\(roots[$0])/large", size: sample.large) / gibibytes }
      ),
      (
        "stat walk, warm, an entry", .times(atMost: 1.5, aim: 1), nil,
        { try Workload.status(files[$0]) / total }
      ),
      (
        "readdir walk, warm, an entry", .times(atMost: 1.5, aim: 1), nil,
        { try Workload.list(roots[$0], directories: directories) / total }
      ),
    ]
    for (name, goal, note, run) in warm {
      for runner in [0, 2] { _ = try run(runner) }
      let times = try BenchTimer.race(rounds: 5, 2) { runner, _ in try run(runner * 2) }
      figures.append(
        BenchFigure(
          work: "\(title): \(name)", times, reference: 1,
          against: contenders[2].name, goal: goal, note: note))
    }
    return figures
  }
}
