import LLVSCore
import LLVSExchange
import ObjectStores
import Platform

/// The rows of the bytes that a remote holds. Nothing is timed, so a folder stands for any remote.
extension RemoteRows {
  static func bytes(_ context: BenchContext) throws -> [BenchFigure] {
    do { try BenchProcess.call(["restic", "version"]) } catch {
      throw BenchError.unavailable("restic is not installed")
    }
    try BenchProcess.requireGit()
    return try outlines(context) + bytesThere(context)
  }

  // MARK: Outlines

  /// Measures what a change costs next to its content: the contents are of a known length, and do not
  /// compress.
  private static func outlines(_ context: BenchContext) throws -> [BenchFigure] {
    let (values, versions) = (context.scale.pick(10_000, 100_000), context.scale.pick(2000, 10_000))
    let store = try Store.open(path: try context.place.directory("outlines"), create: true)
    let folder = try context.place.directory("outlines-folder")
    func send() throws -> Double {
      try StoreRows.Format.bundles.send(store, to: folder)
      return try length(of: folder)
    }
    let first = try SampleStore.fill(store, count: values)
    let many = try send()
    _ = try SampleStore.extend(store, from: first, values: values, versions: versions)
    let single = try send() - many
    func rest(_ bytes: Double, of count: Int) -> Double { bytes / Double(count) - 200 }
    return [
      BenchFigure(
        work: "a version of one change, beside its content", ours: rest(single, of: versions),
        unit: .bytes, goal: .within(atMost: 150, aim: 120)),
      BenchFigure(
        work: "a change of many, beside its content", ours: rest(many, of: values), unit: .bytes,
        goal: .within(atMost: 100, aim: 60)),
    ]
  }

  // MARK: A history

  /// Compares the bytes of a source tree's history, each version of which was sent by itself.
  private static func bytesThere(_ context: BenchContext) throws -> [BenchFigure] {
    let (versions, files) = (context.scale.pick(30, 1000), 500)
    let store = try Store.open(path: try context.place.directory("store"), create: true)
    let folder = try context.place.directory("folder")
    let tree = try context.place.directory("tree")
    let repository = try GitSample(in: try context.place.directory("git"))
    let kept = try context.place.directory("restic")
    let restic = [
      "RESTIC_PASSWORD=bench", "RESTIC_REPOSITORY=\(kept)", "restic", "-q", "--no-cache",
    ]
    try BenchProcess.call(restic + ["init"])
    for module in 0..<(files / 50) {
      try BenchProcess.call(["mkdir", "-p", "\(tree)/Sources/Module\(module)"])
    }
    var source = SampleSource(files: files)
    var stream = GitStream()
    var last: Version.ID?
    for round in 0..<versions {
      let changed = round == 0 ? Array(0..<files) : source.edit()
      stream.commit(on: "main", round)
      for index in changed {
        let key = SampleSource.key(index)
        try FileSystem.replace("\(tree)/\(key.rawValue)", with: source.bytes(index))
        stream.file(key.bytes, source.bytes(index))
      }
      let values = changed.map { Value(id: SampleSource.key($0), data: source.bytes($0)) }
      last = try store.makeVersion(basedOnPredecessor: last, updating: values).id
      try StoreRows.Format.bundles.send(store, to: folder)
      try BenchProcess.call(restic + ["backup", tree])
    }
    try repository.load(stream)
    try BenchProcess.git("gc", "-q", "--prune=now", in: repository.path)
    let early = try length(of: folder)
    try removeReplaced(from: folder, store, last)
    let ours = try length(of: folder)
    let work = "bytes there, \(versions) versions of \(files) sources"
    return [
      BenchFigure(
        work: work, ours: ours, reference: try length(of: kept), against: "restic repository",
        unit: .bytes, goal: .times(atMost: 1.1, aim: 0.9)),
      BenchFigure(
        work: "the same", ours: ours,
        reference: try length(of: repository.path + "/.git/objects/pack"), against: "git pack",
        unit: .bytes, goal: .times(atMost: 1.5, aim: 1)),
      BenchFigure(
        work: "the same, before what was replaced is removed", ours: early, unit: .bytes),
    ]
  }

  /// Sends twice a good month later, when bundles that others replaced are removed.
  private static func removeReplaced(
    from folder: String, _ store: Store, _ last: Version.ID?
  ) throws {
    let later = 40 * 24 * 3600 as Int64
    // The folder's own times have to agree with the clock.
    let bundles = folder + "/" + ExchangeFolders.bundles
    for name in try FileSystem.list(bundles) {
      let past = SystemClock.realtime().seconds - later
      try FileSystem.setModified(Array("\(bundles)/\(name)".utf8), seconds: past, nanoseconds: 0)
    }
    var options = BundleRemote.Options(place: folder, isDirectory: true)
    options.clock = BundleClock(
      now: { SystemClock.realtime().seconds + later }, boottime: { SystemClock.boottime() })
    var last = last
    for round in 0..<2 {
      let value = Value(id: Key("last"), data: Array("\(round)".utf8))
      last = try store.makeVersion(basedOnPredecessor: last, updating: [value]).id
      let objects = DirectoryStore(path: folder, scratch: "scratch", control: TransferControl())
      _ = try BundleRemote(objects, options).send(from: store, ExchangeControl())
    }
  }

  /// The length of the files in a directory and below it, in bytes.
  private static func length(of path: String) throws -> Double {
    var total = 0.0
    for name in try FileSystem.list(path) {
      let status = try FileSystem.status("\(path)/\(name)", following: false)
      total +=
        status.kind == .directory ? try length(of: "\(path)/\(name)") : Double(status.size)
    }
    return total
  }
}
