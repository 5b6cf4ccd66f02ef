import Events
import Grammar
import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

/// The rows whose reference is git.
extension StoreRows {
  /// Makes a version of many changed files of a working tree.
  static func commit(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    let count = context.scale.pick(5000, 10_000)
    let store = try Store.open(path: try context.place.directory("store"), create: true)
    let (tree, _) = try TreeSession.open(
      store, defaults: AttributeDefaults(uid: 0, gid: 0), ignore: .defaults,
      settings: StoreSettings())
    let files = try SampleTree(tree, count: count)
    let repository = try GitSample(in: try context.place.directory("git"))
    let paths = try Workload.layout(count, below: "\(repository.path)/tree")
    let times = try BenchTimer.race(rounds: context.scale.pick(3, 4), 2) { runner, round in
      var random = BenchRandom(UInt64(round))
      if runner == 0 {
        try files.writeAll { random.bytes(4096) }
        return try BenchTimer.seconds {
          guard try tree.cut(.command).cut != nil else {
            throw BenchError.failed("no version was made")
          }
        }
      }
      for path in paths { try File(path, [.readWrite, .create]).write(random.bytes(4096), at: 0) }
      return try BenchTimer.seconds {
        try BenchProcess.git("add", "-A", in: repository.path)
        try BenchProcess.git("commit", "-q", "-m", "round", in: repository.path)
      }
    }
    return [
      BenchFigure(
        work: "version of \(count) changed files of 4 KiB", times, reference: 1,
        against: "git add, commit", goal: .faster(atLeast: 5, aim: 10))
    ]
  }

  /// Compares the bytes on disk of a source tree's history.
  static func size(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    let versions = context.scale.pick(300, 1000)
    let files = 500
    let path = try context.place.directory("store")
    let repository = try GitSample(in: try context.place.directory("git"))
    var source = SampleSource(files: files)
    var stream = GitStream()
    do {
      let store = try Store.open(path: path, create: true)
      var last: Version.ID?
      for round in 0..<versions {
        let changed = round == 0 ? Array(0..<files) : source.edit()
        stream.commit(on: "main", round)
        for index in changed { stream.file(SampleSource.key(index).bytes, source.bytes(index)) }
        let values = changed.map { Value(id: SampleSource.key($0), data: source.bytes($0)) }
        last = try store.makeVersion(basedOnPredecessor: last, updating: values).id
      }
    }
    try repository.load(stream)
    try BenchProcess.git("gc", "-q", "--prune=now", in: repository.path)
    let ours = try SampleSource.bytesOnDisk(path)
    let git = try SampleSource.bytesOnDisk(repository.path + "/.git")
    return [
      BenchFigure(
        work: "bytes on disk, \(versions) versions of \(files) sources", ours: ours,
        reference: git, against: "git gc", unit: .bytes, goal: .times(atMost: 2, aim: 1))
    ]
  }
}
