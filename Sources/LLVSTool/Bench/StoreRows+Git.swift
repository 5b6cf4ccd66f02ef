import FileTree
import LLVS
import Platform

/// Rows that git is the reference for.
extension StoreRows {
  /// A version of many changed files of a live tree.
  static func commit(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    let count = context.scale.pick(5000, 10_000)
    let store = try Store.open(path: try context.place.directory("store"), create: true)
    let (tree, _) = try LiveTree.open(
      store, defaults: LiveTree.Defaults(uid: 0, gid: 0), ignore: .defaults,
      settings: StoreSettings())
    let versioner = Versioner(tree: tree, log: EventLog(directory: store.path)) { _ in }
    let files = try SampleTree(tree, count: count)
    let repository = try GitSample(in: try context.place.directory("git"))
    let paths = try Workload.layout(count, below: "\(repository.path)/tree")
    let times = try BenchTimer.race(rounds: context.scale.pick(3, 4), 2) { runner, round in
      var random = BenchRandom(UInt64(round))
      if runner == 0 {
        try files.writeAll { random.bytes(4096) }
        return try BenchTimer.seconds {
          guard try versioner.cut(.command).cut != nil else {
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
        work: "version of \(count) changed files of 4 KiB", ours: times[0], reference: times[1],
        against: "git add, commit", goal: .faster(atLeast: 5, aim: 10))
    ]
  }

  /// Many versions to another store through a folder.
  static func exchange(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    let versions = context.scale.pick(2000, 10_000)
    let values = 1000
    let store = try Store.open(path: try context.place.directory("store"), create: true)
    let first = try SampleStore.fill(store, count: values)
    let last = try SampleStore.extend(store, from: first, values: values, versions: versions)
    let repository = try GitSample(in: try context.place.directory("git"))
    try repository.fill(count: values)
    try repository.extend(values: values, versions: versions)

    let sent = try BenchTimer.race(rounds: 2, 2) { runner, round in
      let target = try context.place.directory("sent\(runner)-\(round)")
      if runner == 0 {
        let exchange = FileSystemExchange(existingFolder: target, store: store)
        return try BenchTimer.seconds { _ = try exchange.send(control: ExchangeControl()) }
      }
      try BenchProcess.git("init", "-q", "--bare", target, in: context.place.path)
      return try BenchTimer.seconds {
        try BenchProcess.git("push", "-q", target, "main", in: repository.path)
      }
    }
    let taken = try BenchTimer.race(rounds: 2, 2) { runner, round in
      let source = "\(context.place.path)/sent\(runner)-\(round)"
      let target = try context.place.directory("taken")
      if runner == 0 {
        let other = try Store.open(path: target, create: true)
        return try BenchTimer.seconds {
          let exchange = FileSystemExchange(existingFolder: source, store: other)
          _ = try exchange.retrieve(control: ExchangeControl())
          guard try other.version(last.id) != nil else {
            throw BenchError.failed("the newest version did not arrive")
          }
        }
      }
      return try BenchTimer.seconds {
        // A clone from a path would share the files.
        try BenchProcess.git(
          "clone", "-q", "-b", "main", "file://\(source)", target, in: context.place.path)
      }
    }
    let work = "exchange \(versions) versions"
    return [
      BenchFigure(
        work: "\(work): send, retrieve", ours: sent[0] + taken[0], reference: sent[1] + taken[1],
        against: "git push, clone", goal: .faster(atLeast: 1, aim: 3)),
      BenchFigure(
        work: "\(work): send", ours: sent[0], reference: sent[1], against: "git push"),
      BenchFigure(
        work: "\(work): retrieve", ours: taken[0], reference: taken[1], against: "git clone"),
    ]
  }

  /// Bytes on disk of a source tree's history.
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

extension GitSample {
  /// Commits in a line, each with one file changed.
  func extend(values: Int, versions: Int) throws {
    var stream = GitStream()
    var random = BenchRandom(7)
    for version in 0..<versions {
      stream.commit(on: "main", version + 2, from: version == 0 ? "main^0" : nil)
      let index = Int(random.next() % UInt64(values))
      stream.file(SampleStore.key(index, of: values).bytes, random.bytes(200))
    }
    try load(stream)
  }
}
