import Foundation
import LLVSCore
import LLVSExchange
import ObjectStores
import Platform

/// Measures the exchange of many versions with another store through a folder, in each of the two
/// formats.
extension StoreRows {
  /// The format of versions in a folder.
  enum Format: CaseIterable {
    case files, bundles

    var name: String {
      switch self {
      case .files: "files"
      case .bundles: "bundles"
      }
    }

    private func layout(_ folder: String, _ store: Store) -> any RemoteLayout {
      let transfer = TransferControl()
      let objects = DirectoryStore(
        path: folder, scratch: FileLayout.scratch(of: store), control: transfer)
      return switch self {
      case .files: FileLayout(objects, place: "x", transfer: transfer)
      case .bundles: BundleRemote(objects, .init(place: folder, isDirectory: true))
      }
    }

    func send(_ store: Store, to folder: String) throws {
      _ = try layout(folder, store).send(from: store, .init())
    }

    func retrieve(into store: Store, from folder: String) throws {
      _ = try layout(folder, store).retrieve(into: store, .init())
    }
  }

  static func exchange(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    return try [2000, 10_000].flatMap { try exchange($0, Format.allCases, context) }
  }

  /// Measures the exchange of a number of versions in some formats.
  static func exchange(
    _ versions: Int, _ formats: [Format], _ context: BenchContext
  ) throws -> [BenchFigure] {
    let values = 1000
    let store = try Store.open(path: try context.place.directory("store\(versions)"), create: true)
    let first = try SampleStore.fill(store, count: values)
    let last = try SampleStore.extend(store, from: first, values: values, versions: versions)
    let repository = try GitSample(in: try context.place.directory("git\(versions)"))
    try repository.fill(count: values)
    try repository.extend(values: values, versions: versions)
    let git = formats.count

    var folders: [[Int]: String] = [:]
    let sent = try BenchTimer.race(rounds: 3, git + 1) { runner, round in
      let target = try context.place.directory("sent")
      folders[[runner, round]] = target
      if runner < git {
        let format = formats[runner]
        return try BenchTimer.seconds { try format.send(store, to: target) }
      }
      try BenchProcess.git("init", "-q", "--bare", target, in: context.place.path)
      return try BenchTimer.seconds {
        try BenchProcess.git("push", "-q", target, "main", in: repository.path)
      }
    }
    let taken = try BenchTimer.race(rounds: 3, git + 1) { runner, round in
      guard let source = folders[[runner, round]] else {
        throw BenchError.failed("nothing was sent")
      }
      let target = try context.place.directory("taken")
      if runner < git {
        let format = formats[runner]
        let other = try Store.open(path: target, create: true)
        return try BenchTimer.seconds {
          try format.retrieve(into: other, from: source)
          guard try other.version(last.id) != nil else {
            throw BenchError.failed("the newest version did not arrive")
          }
        }
      }
      return try BenchTimer.seconds {
        // A clone from a plain path would share the files.
        try BenchProcess.git(
          "clone", "-q", "-b", "main", "file://\(source)", target, in: context.place.path)
      }
    }
    return formats.enumerated().flatMap { runner, format in
      let work = "\(versions) versions as \(format.name)"
      let (out, back) = (sent[runner], taken[runner])
      return [
        BenchFigure(
          work: "\(work): send, retrieve", ours: out + back, reference: sent[git] + taken[git],
          against: "git push, clone", goal: .faster(atLeast: 1, aim: 3)),
        BenchFigure(
          work: "\(work): send", ours: out, reference: sent[git], against: "git push"),
        BenchFigure(
          work: "\(work): retrieve", ours: back, reference: taken[git], against: "git clone"),
      ]
    }
  }
}

extension GitSample {
  /// Adds commits in a line, each with one changed file.
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
