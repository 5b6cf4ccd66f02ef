import LLVSCore
import Platform

/// The published figures of the original LLVS next to the same work here, through the public library
/// and through the engine in turn.
///
/// They were measured on another day and machine, so only their order of magnitude counts; and the
/// original does not wait for the disk. What does here is also compared with the disk alone, in the
/// same rounds.
extension StoreRows {
  /// The best of the original's back-ends at 10,000 values with keys that suit it, and with 1,000
  /// versions for exchanges; in seconds.
  private enum Original {
    static let initialVersion = 5.41
    static let update = 0.0029
    static let reads = 0.084
    static let difference = 0.0072
    static let versions = 16.7
    static let reopen = 0.25
    static let send = 0.79
    static let retrieve = 3.19
  }

  static func original(_ context: BenchContext) throws -> [BenchFigure] {
    try OriginalRows(context).figures()
  }

  /// The measurements of one run.
  private final class OriginalRows {
    private let context: BenchContext
    private let count = 10_000
    private let keys: [String]
    private var random = BenchRandom(5)
    private var found: [BenchFigure] = []

    init(_ context: BenchContext) {
      self.context = context
      // Keys that suit the original are evenly spread.
      keys = (0..<10_000).map { "\(SystemRandom.hex(16))-\($0)" }
    }

    func figures() throws -> [BenchFigure] {
      try values()
      try exchange()
      return found
    }

    private func add(
      _ work: String, _ times: [[Double]], times factor: Double = 1, _ original: Double
    ) {
      for contender in OriginalContender.allCases {
        found.append(
          BenchFigure(
            work: "\(work), \(contender)",
            ours: BenchTimer.median(times[contender.rawValue]) * factor, reference: original,
            against: "the original", goal: .faster(atLeast: 10, aim: 100)))
      }
    }

    /// Compares both with the disk, which ran in the same rounds as the third.
    private func addDisk(_ work: String, _ times: [[Double]], _ disk: String) {
      let rounds = BenchRounds(times: times)
      for contender in OriginalContender.allCases {
        var figure = BenchFigure(
          work: "\(work), \(contender)", ours: rounds[contender.rawValue], reference: rounds[2],
          against: disk, goal: .times(atMost: 4, aim: 2))
        figure.paired = rounds.ratios(of: 2, to: contender.rawValue)
        found.append(figure)
      }
    }

    // MARK: Values and versions

    private func values() throws {
      let values = keys.map { ($0, random.bytes(200)) }
      var paths: [String] = []
      var stores: [any OriginalWork] = []
      let begun = try BenchTimer.race(rounds: 3, 2) { runner, round in
        let path = try context.place.directory("store-\(runner)-\(round)")
        guard let contender = OriginalContender(rawValue: runner) else { return 0 }
        let store = try contender.open(path)
        let seconds = try BenchTimer.seconds { try store.begin(with: values) }
        if round == 0 {
          stores.append(store)
          paths.append(path)
        }
        return seconds
      }
      add("first version of \(count) values", begun.times, Original.initialVersion)
      try updates(stores)
      let read = try BenchTimer.race(rounds: 5, 2) { runner, round in
        try BenchTimer.seconds {
          for index in 0..<1000 { try stores[runner].read(keys[(index * 7 + round) % count]) }
        }
      }
      add("1,000 reads", read.times, Original.reads)
      let compared = try BenchTimer.race(rounds: 5, 2) { runner, _ in
        try BenchTimer.seconds { try stores[runner].findDifference() }
      }
      add("difference of 100 changes (theirs: of 10)", compared.times, Original.difference)
      try line(stores)
      stores = []
      let opened = try BenchTimer.race(rounds: 5, 2) { runner, _ in
        try BenchTimer.seconds {
          try OriginalContender(rawValue: runner)?.open(paths[runner]).readHead()
        }
      }
      add("reopen with 10,000 versions", opened.times, Original.reopen)
    }

    private func updates(_ stores: [any OriginalWork]) throws {
      let disk = try DiskAlone(context)
      let updated = try BenchTimer.race(rounds: 100, 3) { runner, round in
        guard runner < 2 else { return try disk.append() }
        let (key, bytes) = (keys[round * 97 % count], random.bytes(200))
        return try BenchTimer.seconds { try stores[runner].update(key, bytes) }
      }
      add("one-value version, durable", updated.times, Original.update)
      addDisk("one-value version, durable", updated.times, "append+fdatasync")
    }

    /// Makes 10,000 versions, a hundred at a time.
    private func line(_ stores: [any OriginalWork]) throws {
      let disk = try DiskAlone(context)
      let made = try BenchTimer.race(rounds: 100, 3) { runner, round in
        var seconds = 0.0
        for step in 0..<100 {
          guard runner < 2 else {
            seconds += try disk.append()
            continue
          }
          let (key, bytes) = (keys[round * 100 + step], random.bytes(200))
          seconds += try BenchTimer.seconds { try stores[runner].update(key, bytes) }
        }
        return seconds
      }
      add("10,000 versions of one value, one by one", made.times, times: 100, Original.versions)
      addDisk("100 of them", made.times, "100 of append+fdatasync")
    }

    // MARK: Exchange

    private func exchange() throws {
      let source = try context.place.directory("sender")
      let rounds = 5
      do {
        let store = try Store.open(path: source, create: true)
        let first = try SampleStore.fill(store, count: 1000)
        _ = try SampleStore.extend(store, from: first, values: 1000, versions: 1000)
      }
      var folders: [String] = []
      let sent = try BenchTimer.race(rounds: rounds, 3) { runner, round in
        let folder = try context.place.directory("folder-\(runner)-\(round)")
        // No round waits for data that the one before left to be written.
        try context.place.sync()
        guard let contender = OriginalContender(rawValue: runner) else {
          return try DiskAlone.files(context, in: folder)
        }
        let store = try contender.open(source)
        folders.append(folder)
        return try BenchTimer.seconds { try store.send(to: folder) }
      }
      add("send 1,000 versions as files", sent.times, Original.send)
      addDisk("send 1,000 versions as files", sent.times, "2,000 files written, synced and renamed")
      guard let folder = folders.first else { return }
      let retrieved = try BenchTimer.race(rounds: rounds, 2) { runner, round in
        guard let contender = OriginalContender(rawValue: runner) else { return 0 }
        let store = try contender.open(
          try context.place.directory("receiver-\(runner)-\(round)"))
        try context.place.sync()
        return try BenchTimer.seconds { try store.retrieve(from: folder) }
      }
      add("retrieve 1,000 versions as files", retrieved.times, Original.retrieve)
      try bundles(source)
    }

    private func bundles(_ source: String) throws {
      let store = try Store.open(path: source)
      let folder = try context.place.directory("bundles")
      try context.place.sync()
      let sent = try BenchTimer.seconds { try Format.bundles.send(store, to: folder) }
      let other = try Store.open(
        path: try context.place.directory("receiver"), create: true)
      let retrieved = try BenchTimer.seconds {
        try Format.bundles.retrieve(into: other, from: folder)
      }
      for (work, ours, original) in [
        ("send", sent, Original.send), ("retrieve", retrieved, Original.retrieve),
      ] {
        found.append(
          BenchFigure(
            work: "\(work) 1,000 versions as bundles, engine", ours: ours, reference: original,
            against: "the original", goal: .faster(atLeast: 10, aim: 100)))
      }
    }
  }

  /// The time of the disk alone for the bytes that the rows above write.
  private final class DiskAlone {
    private let log: File
    private let block: [UInt8]
    private var offset: UInt64 = 0

    init(_ context: BenchContext) throws {
      log = try File("\(context.place.path)/log", [.readWrite, .create])
      var random = BenchRandom(11)
      block = random.bytes(16_384)
    }

    /// Appends a block and waits until it is on the disk.
    func append() throws -> Double {
      try BenchTimer.seconds {
        try log.write(block, at: offset)
        try log.syncData()
        offset += UInt64(block.count)
      }
    }

    /// Writes the files of a send of 1,000 versions. On ext4 it takes several times as long if
    /// files were removed a short time before, and every send waits for that.
    static func files(_ context: BenchContext, in folder: String) throws -> Double {
      var random = BenchRandom(11)
      let bytes = random.bytes(400)
      let from = try context.place.directory("from-\(SystemClock.monotonic())")
      return try BenchTimer.seconds {
        for index in 0..<2000 {
          try File("\(from)/\(index)", [.readWrite, .create]).write(bytes, at: 0)
        }
        try context.place.sync()
        for index in 0..<2000 {
          try FileSystem.rename("\(from)/\(index)", to: "\(folder)/\(index)")
        }
        try FileSystem.syncDirectory(folder)
      }
    }
  }
}
