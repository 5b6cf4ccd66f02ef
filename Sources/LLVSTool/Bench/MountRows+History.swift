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
}
