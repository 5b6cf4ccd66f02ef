import Events
import Grammar
import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

/// The row of the recorded tree: the rows of a head's tree next to the map that they follow from.
enum TreeBench {
  static func tree(_ context: BenchContext) throws -> [BenchFigure] {
    let count = context.scale.pick(100_000, 1_000_000)
    let sample = try TreeSample(context, count)
    return try [sample.build()] + sample.lookUps() + sample.listing() + sample.advances()
  }
}

/// A store with a tree for its head.
private final class TreeSample {
  let context: BenchContext
  let count: Int
  let storePath: String
  let treePath: String
  private var current: Store?
  let base: VersionRecord
  var cut: Int64 = 1
  private(set) var opened: RecordedTree?
  let numbers: NumberSource

  init(_ context: BenchContext, _ count: Int) throws {
    self.context = context
    self.count = count
    storePath = try context.place.directory("store")
    treePath = try context.place.directory("tree") + "/tree.sqlite"
    let store = try Store.open(path: storePath, create: true)
    base = try SampleStore.fill(store, count: count)
    current = store
    let next = Monitor<UInt64>(1 << 32)
    numbers = NumberSource { count in
      next.withLock { next in
        defer { next += count }
        return next
      }
    }
    try context.place.sync()
  }

  var store: Store {
    guard let current else { preconditionFailure("the store is closed") }
    return current
  }

  /// Opens the store and the tree with nothing of them in memory of this process.
  func reopen() throws {
    (opened, current) = (nil, nil)
    current = try Store.open(path: storePath)
    try open()
  }

  func tree() throws -> RecordedTree {
    guard let opened else { throw BenchError.failed("there is no tree") }
    return opened
  }

  func open() throws {
    opened = nil
    let time = Attributes.Time(seconds: 1_700_000_000, nanoseconds: 0)
    let origin = RecordedTree.Origin(
      storeID: [UInt8](repeating: 1, count: 16), head: head(base), numbers: numbers,
      map: { _, _ in nil }, time: { _ in time }, now: time)
    opened = try RecordedTree.open(at: treePath, for: origin).tree
  }

  func head(_ record: VersionRecord) -> TreeHead {
    TreeHead(cut: cut, version: record.id, view: TreeView(map: store.map(of: record)))
  }
}

// MARK: - The first tree

extension TreeSample {
  func build() throws -> BenchFigure {
    let seconds = try BenchTimer.seconds { try open() }
    let size = try FileSystem.status(treePath).size
    return BenchFigure(
      work: "first tree of \(count) values, a value", ours: seconds / Double(count),
      goal: .within(atMost: 10e-6, aim: 4e-6),
      note: "\(size / UInt64(count)) bytes a value in the file")
  }

  // MARK: - Look-ups

  private func paths(_ samples: Int, _ seed: UInt64) -> [TreePath] {
    var random = BenchRandom(seed)
    return (0..<samples).map { _ in
      let index = Int(random.next() % UInt64(count))
      return TreePath(SampleStore.key(index, of: count).bytes)
    }
  }

  /// Returns the time of a look-up by path, the directory's number being known as it is for the
  /// kernel.
  private func lookUp(_ paths: [TreePath]) throws -> Double {
    let tree = try tree()
    var directories: [TreePath: InodeNumber] = [:]
    for path in paths where directories[path.parent] == nil {
      directories[path.parent] = try tree.child(of: .root, named: path.parent.name)?.inode.number
    }
    let names = paths.map { (directories[$0.parent] ?? .root, $0.name) }
    return try BenchTimer.seconds {
      for (directory, name) in names {
        guard try tree.child(of: directory, named: name) != nil else {
          throw BenchError.failed("a name is missing")
        }
      }
    } / Double(paths.count)
  }

  private func lookUpInMap(_ paths: [TreePath]) throws -> Double {
    let view = TreeView(map: store.map(of: base))
    return try BenchTimer.seconds {
      for path in paths {
        guard try view.find(path: path.bytes) != nil else {
          throw BenchError.failed("a name is missing")
        }
      }
    } / Double(paths.count)
  }

  func lookUps() throws -> [BenchFigure] {
    let warm = try BenchTimer.race(rounds: 7, 2) { runner, round in
      let paths = paths(20_000, UInt64(round))
      return try runner == 0 ? lookUp(paths) : lookUpInMap(paths)
    }
    var figures = [
      BenchFigure(
        work: "look up a name and its record, scattered", warm, reference: 1, against: "the map",
        goal: .times(atMost: 2, aim: 1))
    ]
    do {
      let cold = try BenchTimer.race(rounds: 3, 2) { runner, round in
        let paths = paths(1000, UInt64(100 + round))
        try reopen()
        try context.place.dropCaches()
        return try runner == 0 ? lookUp(paths) : lookUpInMap(paths)
      }
      figures.append(
        BenchFigure(
          work: "the same with no page in memory", cold, reference: 1, against: "the map",
          goal: .times(atMost: 2, aim: 1)))
    } catch BenchError.unavailable(let reason) {
      figures[0].note = "not measured without pages in memory: \(reason)"
    }
    let numbers = try paths(20_000, 3).compactMap { path in
      try tree().child(of: .root, named: path.parent.name).flatMap {
        try tree().child(of: $0.inode.number, named: path.name)?.inode.number
      }
    }
    let byNumber = try BenchTimer.seconds {
      for number in numbers { _ = try tree().inode(number) }
    }
    figures.append(
      BenchFigure(work: "look up an inode by its number", ours: byNumber / Double(numbers.count)))
    return figures
  }

  // MARK: - Listing

  func listing() throws -> [BenchFigure] {
    let names = SampleStore.bigCount(of: count)
    let times = try BenchTimer.race(rounds: 5, 2) { runner, _ in
      try BenchTimer.seconds {
        var found = 0
        if runner == 0 {
          let tree = try tree()
          guard let big = try tree.child(of: .root, named: FileName("big".utf8)) else { return }
          var cookie = EntryCookie.start
          while case let page = try tree.page(of: big.inode.number, after: cookie, limit: 512),
            let last = page.last
          {
            found += page.count
            cookie = last.cookie
          }
        } else {
          var listing = TreeView(map: store.map(of: base)).list(Array("big".utf8))
          while try listing.next() != nil { found += 1 }
        }
        guard found == names else { throw BenchError.failed("names are missing from a listing") }
      } / Double(names)
    }
    return [
      BenchFigure(
        work: "list a directory of \(names) with records, a name", times, reference: 1,
        against: "the map", goal: .times(atMost: 2, aim: 1))
    ]
  }
}

// MARK: - New heads

extension TreeSample {
  /// Makes a version on the base that gives values at these positions other bytes.
  private func version(changing indices: [Int], seed: UInt64) throws -> VersionRecord {
    var random = BenchRandom(seed)
    let changes = indices.map {
      Value.Change.update(Value(id: SampleStore.key($0, of: count), data: random.bytes(200)))
    }
    return try store.write { (transaction) throws(StoreError) in
      try transaction.makeVersion(
        basedOn: Version.Predecessors(idOfFirst: base.id), storing: changes)
    }
  }

  /// Returns the time of making the rows of a version and showing them.
  private func advance(from old: VersionRecord, to new: VersionRecord) throws -> Double {
    let tree = try tree()
    cut += 1
    let (before, after) = (head(old), head(new))
    let seconds = try BenchTimer.seconds {
      try tree.prepare(
        after, from: before.view, numbers: numbers,
        now: Attributes.Time(seconds: 1_800_000_000, nanoseconds: 0))
      try tree.publish()
    }
    tree.shortenLog()
    return seconds
  }

  func advances() throws -> [BenchFigure] {
    var figures: [BenchFigure] = []
    for (name, indices, limit) in [
      ("1 changed value", [count / 2], 0.001),
      ("10,000 neighbours", Array(count / 2..<(count / 2 + 10_000)), 0.25),
      ("10,000 scattered values", (0..<10_000).map { $0 * (count / 10_000) }, 0.4),
    ] {
      let changed = try version(changing: indices, seed: 5)
      let times = try (0..<5).map { _ in
        let seconds = try advance(from: base, to: changed)
        _ = try advance(from: changed, to: base)
        return seconds
      }
      figures.append(
        BenchFigure(
          work: "rows of a version with \(name)", ours: BenchTimer.median(times),
          goal: .within(atMost: limit, aim: limit / 2)))
    }
    return try figures + [merge("spread", by: count / 1000), merge("in one directory", by: 2)]
  }

  /// A merge of two sides with a thousand changes each: the tree shows one of them, and then what
  /// they were merged into. The reference is the tree that is mounted today, which does the same.
  private func merge(_ layout: String, by step: Int) throws -> BenchFigure {
    let sides = try (0..<2).map { side in
      try version(changing: (0..<1000).map { $0 * step + side }, seed: UInt64(side + 20))
    }
    let (live, _) = try TreeSession.open(
      store, defaults: AttributeDefaults(uid: 0, gid: 0), ignore: .defaults,
      settings: StoreSettings())
    func merge(_ transaction: WriteTransaction) throws(StoreError) -> VersionNumber? {
      try transaction.merge(sides[1].number, into: sides[0].number, line: nil).outcome
    }
    _ = try advance(from: base, to: sides[0])
    let times = try BenchTimer.race(rounds: 7, 2) { runner, _ in
      guard runner == 0 else {
        _ = try live.transition(.command, headReason: .merge) { _, _ in sides[0].number }
        return try BenchTimer.seconds {
          _ = try live.transition(.command, headReason: .merge) {
            (transaction, _) throws(StoreError) in try merge(transaction)
          }
        }
      }
      var made: VersionNumber?
      let seconds = try BenchTimer.seconds {
        made = try store.write { (transaction) throws(StoreError) in try merge(transaction) }
      }
      guard let record = try made.flatMap({ try store.version($0) }) else {
        throw BenchError.failed("the merge is not what it should be")
      }
      let rows = try advance(from: sides[0], to: record)
      _ = try advance(from: record, to: sides[0])
      return seconds + rows
    }
    _ = try advance(from: sides[0], to: base)
    return BenchFigure(
      work: "merge of 2 x 1,000 changes \(layout) with its rows", times, reference: 1,
      against: "today's tree", goal: .times(atMost: 1.5, aim: 1))
  }
}
